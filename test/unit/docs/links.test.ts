/** Links between pages lead somewhere, and a reader who starts at docs/README.md finds every page. */
import { existsSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { expect, it } from 'vitest';
import { readPages, root } from './pages.ts';

const pages = readPages();
const byPath = new Map(pages.map((page) => [page.path, page]));

type Target = { readonly path: string; readonly anchor: string | undefined };

/** Undefined for what leaves the repository. */
function targetOf(from: string, link: string): Target | undefined {
  if (/^[a-z][a-z0-9+.-]*:/i.test(link)) return undefined;
  const [path = '', anchor] = link.split('#');
  return { path: path === '' ? from : normalize(join(dirname(from), decodeURI(path))), anchor };
}

it('each link leads to a file, and to a heading where it names one', () => {
  const broken = pages.flatMap(({ path: from, links }) =>
    links
      .filter((link) => {
        const target = targetOf(from, link);
        if (target === undefined) return false;
        if (!existsSync(join(root, target.path))) return true;
        return target.anchor !== undefined && byPath.get(target.path)?.anchors.has(target.anchor) === false;
      })
      .map((link) => `${from}: ${link}`),
  );
  expect(broken).toEqual([]);
});

it('every page of docs/ is reached from docs/README.md', () => {
  const seen = new Set<string>();
  const queue = ['docs/README.md'];
  for (let path = queue.pop(); path !== undefined; path = queue.pop()) {
    if (seen.has(path)) continue;
    seen.add(path);
    for (const link of byPath.get(path)?.links ?? []) {
      const target = targetOf(path, link);
      // A link to a folder shows its README.
      for (const next of [target?.path, target && join(target.path, 'README.md')])
        if (next?.startsWith('docs/') === true && byPath.has(next)) queue.push(next);
    }
  }
  expect([...byPath.keys()].filter((path) => path.startsWith('docs/') && !seen.has(path))).toEqual([]);
});
