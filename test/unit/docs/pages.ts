/** The Markdown of this repository, read once: links, headings, fenced blocks. */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import GithubSlugger from 'github-slugger';
import { marked, type Token, type Tokens } from 'marked';

export const root = join(import.meta.dirname, '../../..');

export type Block = { readonly language: string; readonly text: string };
export type Page = {
  /** From the root of the repository. */
  readonly path: string;
  readonly links: readonly string[];
  /** As GitHub names its headings in links. */
  readonly anchors: ReadonlySet<string>;
  readonly blocks: readonly Block[];
  readonly source: string;
};

/** Every page that git knows or would add. */
export function readPages(): readonly Page[] {
  const listed = execFileSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard', '*.md'], {
    cwd: root,
    encoding: 'utf8',
  });
  return listed
    .split('\0')
    .filter((path) => path !== '')
    .sort()
    .map(readPage);
}

function readPage(path: string): Page {
  const source = readFileSync(join(root, path), 'utf8');
  const links: string[] = [];
  const blocks: Block[] = [];
  const anchors = new Set<string>();
  const slugger = new GithubSlugger();
  marked.walkTokens(marked.lexer(source), (token: Token) => {
    if (token.type === 'link' || token.type === 'image') links.push((token as Tokens.Link).href);
    if (token.type === 'heading') anchors.add(slugger.slug(plainText(token as Tokens.Heading)));
    if (token.type === 'code') {
      const { lang, text } = token as Tokens.Code;
      blocks.push({ language: lang ?? '', text });
    }
  });
  return { path, links, anchors, blocks, source };
}

/** What a reader sees of a heading: without backquotes, and of a link its text. */
function plainText(heading: Tokens.Heading): string {
  let text = '';
  marked.walkTokens(heading.tokens, (token) => {
    if (token.type === 'codespan' || token.type === 'escape' || (token.type === 'text' && !('tokens' in token)))
      text += (token as Tokens.Text).text;
  });
  return text;
}
