/** What pages tell people to type exists: commands, options, settings; and what is said to be JSON or a script parses. */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Command } from 'commander';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { allSettings } from '../../../src/config/catalogue.ts';
import { errorCodes } from '../../../src/errors.ts';
import { commands } from '../../../workers/command-line.ts';
import { readPages, root } from './pages.ts';

const pages = readPages();
const blocks = pages.flatMap(({ path, blocks }) => blocks.map((block) => ({ ...block, path })));
const program = new Command('rag-serving');

beforeAll(async () => {
  for (const { load } of commands) (await load())(program, {});
});

/** `rag-serving …` as it is typed, continued lines joined; what a shell makes of the rest of the line is cut off. */
function typedCommands(): readonly { readonly path: string; readonly words: readonly string[] }[] {
  return blocks
    .filter(({ language }) => ['bash', 'sh', 'console', ''].includes(language))
    .flatMap(({ path, text, language }) =>
      text
        .replaceAll(/\\\n\s*/g, ' ')
        .split('\n')
        .filter((line) => language !== 'console' || line.startsWith('$ '))
        .map((line) => /(?:^|\s)(?:npx )?rag-serving ((?:[^#|<>&;]|<[a-z-]+>)*)/.exec(line)?.[1]?.trim())
        .filter((typed) => typed !== undefined)
        .map((typed) => ({ path, words: typed.split(/\s+/) })),
    );
}

function problemOf(words: readonly string[]): string | undefined {
  let command: Command = program;
  for (const word of words) {
    const next = command.commands.find((one) => one.name() === word);
    if (next === undefined) break;
    command = next;
  }
  if (command === program && !words[0]?.startsWith('-') && words[0] !== 'help') return `no command ${words[0]}`;
  const known = new Set(command.options.flatMap(({ long, short }) => [long, short]));
  for (const word of words) {
    const flag = /^(--?[a-zA-Z][a-zA-Z-]*)/.exec(word)?.[1];
    if (flag !== undefined && !known.has(flag) && !['--help', '-h', '--version', '-V'].includes(flag))
      return `${command.name()} has no option ${flag}`;
  }
  return undefined;
}

it('each command that is shown exists, with its options', () => {
  const typed = typedCommands();
  expect(typed.length).toBeGreaterThan(20);
  const wrong = typed.flatMap(({ path, words }) => {
    const problem = problemOf(words);
    return problem === undefined ? [] : [`${path}: rag-serving ${words.join(' ')}: ${problem}`];
  });
  expect(wrong).toEqual([]);
});

it('each setting and error code that a page names exists', () => {
  const names = new Set<string>([...allSettings.map(({ name }) => name), ...errorCodes]);
  const wrong = pages.flatMap(({ path, source }) =>
    [...source.matchAll(/\b(?:RAG_SERVING|KAFKA)_[A-Z0-9_]*[A-Z0-9]\b(?![*…_])/g)]
      .map(([name]) => name)
      .filter((name) => !names.has(name))
      .map((name) => `${path}: ${name}`),
  );
  expect([...new Set(wrong)]).toEqual([]);
});

describe('blocks', () => {
  let folder: string;
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'rag-docs-'));
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  it('of JSON parse, line by line where they are several objects', () => {
    for (const { text, path } of blocks.filter(({ language }) => language === 'json')) {
      const parses = (part: string) => {
        JSON.parse(part);
        return true;
      };
      let whole = false;
      try {
        whole = parses(text);
      } catch {
        // Then each line has to be an object of its own.
      }
      if (!whole) for (const line of text.split('\n')) expect(() => parses(line), `${path}: ${line}`).not.toThrow();
    }
  });

  it('of bash are accepted by bash', () => {
    for (const [n, { text, path }] of blocks.filter(({ language }) => /^(bash|sh)$/.test(language)).entries()) {
      const file = join(folder, `${n}.sh`);
      writeFileSync(file, text);
      expect(() => execFileSync('bash', ['-n', file], { stdio: 'pipe' }), `${path}:\n${text}`).not.toThrow();
    }
  });

  it('of make targets name targets', () => {
    const makefile = readFileSync(join(root, 'Makefile'), 'utf8');
    const targets = new Set([...makefile.matchAll(/^([a-z][a-z0-9 -]*):/gm)].flatMap(([, names]) => names!.split(' ')));
    const typed = blocks.flatMap(({ text, path }) =>
      [...text.matchAll(/^\$? ?(?:[A-Z_]+=\S+ )*make ([a-z][a-z0-9-]*)/gm)].map(([, target]) => ({
        path,
        target: target!,
      })),
    );
    expect(typed.length).toBeGreaterThan(1);
    expect(typed.filter(({ target }) => !targets.has(target))).toEqual([]);
  });
});
