import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { globPattern, globRoot } from '../../../../workers/files/glob.ts';
import { findInputs } from '../../../../workers/files/inputs.ts';
import { linesOf } from '../../../../workers/files/lines.ts';

describe('findInputs', () => {
  let base = '';
  beforeAll(() => {
    base = mkdtempSync(join(tmpdir(), 'rag-produce-'));
    for (const folder of ['docs/deep', 'docs/node_modules/x', 'docs/.git', 'other']) {
      mkdirSync(join(base, folder), { recursive: true });
    }
    const files = [
      'docs/a.md',
      'docs/deep/b.txt',
      'docs/c.png',
      'docs/node_modules/x/n.md',
      'docs/.git/g.md',
      'other/a.md',
      'l.ndjson',
    ];
    for (const file of files) writeFileSync(join(base, file), 'text');
    symlinkSync(join(base, 'docs'), join(base, 'docs/deep/ring'));
  });
  afterAll(() => rmSync(base, { recursive: true }));
  const names = async (...paths: string[]) => (await findInputs(paths, base, base)).map(({ name }) => name);

  it('takes .md and .txt of a folder at any depth; no hidden folders, no node_modules, no rings', async () => {
    expect(await names('docs')).toEqual(['docs/a.md', 'docs/deep/b.txt']);
  });
  it('takes node_modules when it is asked for', async () => {
    expect(await names('docs/node_modules')).toEqual(['docs/node_modules/x/n.md']);
  });
  it('takes each file once, in the order of the paths, sorted within each', async () => {
    expect(await names('other', 'docs', 'docs/a.md', 'l.ndjson')).toEqual([
      'other/a.md',
      'docs/a.md',
      'docs/deep/b.txt',
      'l.ndjson',
    ]);
  });
  it('paths are relative to the current folder, document ids to the base', async () => {
    const inputs = await findInputs(['a.md', 'deep'], base, join(base, 'docs'));
    expect(inputs.map(({ name }) => name)).toEqual(['docs/a.md', 'docs/deep/b.txt']);
  });
  it('reads globs that the shell left alone', async () => {
    expect(await names('**/*.md')).toEqual(['docs/a.md', 'other/a.md']);
    expect(await names('./docs/*.{md,txt}')).toEqual(['docs/a.md']);
    expect(await names(`${base}/docs/**/?.txt`)).toEqual(['docs/deep/b.txt']);
  });
  it('two documents of one name are refused, not written over each other', async () => {
    const outside = findInputs([join(base, 'docs/a.md'), join(base, 'other/a.md')], join(base, 'docs/deep'));
    await expect(outside).rejects.toThrow(/same document id; give --base/);
  });
  for (const [path, says] of [
    ['none.md', 'no such file or folder'],
    ['docs/c.png', 'neither text'],
    ['docs/.git/x*', 'no file matches'],
    ['no/where/*.md', 'no file matches'],
  ] as const) {
    it(`${path}: ${says}`, () => expect(names(path)).rejects.toThrow(says));
  }
  it('a folder without documents is told', async () => {
    mkdirSync(join(base, 'empty'));
    await expect(names('empty')).rejects.toThrow('no .md or .txt file');
  });
});

describe('globs', () => {
  const cases: [pattern: string, path: string, matches: boolean][] = [
    ['*.md', 'a.md', true],
    ['*.md', 'x/a.md', false],
    ['**/*.md', 'a.md', true],
    ['**/*.md', 'x/y/a.md', true],
    ['docs/**', 'docs/x/y.txt', true],
    ['a?c.txt', 'abc.txt', true],
    ['a?c.txt', 'a/c.txt', false],
    ['{a,b}/*.md', 'b/x.md', true],
    ['a+(b).md', 'a+(b).md', true],
    ['a.md', 'aXmd', false],
  ];
  for (const [pattern, path, matches] of cases) {
    it(`${pattern} ${matches ? 'matches' : 'does not match'} ${path}`, () => {
      expect(globPattern(pattern).test(path)).toBe(matches);
    });
  }
  it('start walking before the first wildcard', () => {
    expect(['*.md', 'a/b/*.md', '/*.md', 'a/b*/c'].map(globRoot)).toEqual(['.', 'a/b', '/', 'a']);
  });
});

describe('linesOf', () => {
  async function lines(blocks: (string | Uint8Array)[], limit?: number) {
    async function* stream() {
      for (const block of blocks) yield typeof block === 'string' ? Buffer.from(block) : block;
    }
    const found: [number, string | undefined][] = [];
    for await (const { number, bytes } of linesOf(stream(), limit)) {
      found.push([number, bytes === undefined ? undefined : Buffer.from(bytes).toString('utf8')]);
    }
    return found;
  }
  const cases: { name: string; blocks: string[]; gives: [number, string | undefined][]; limit?: number }[] = [
    {
      name: 'lines over block borders',
      blocks: ['a', 'b\nc', '\n', 'd'],
      gives: [
        [1, 'ab'],
        [2, 'c'],
        [3, 'd'],
      ],
    },
    {
      name: 'CRLF and blank lines, counted',
      blocks: ['a\r\n\r\n  \nb\r\n'],
      gives: [
        [1, 'a'],
        [4, 'b'],
      ],
    },
    { name: 'U+2028 inside a line', blocks: ['{"a":"x\u2028y"}\n'], gives: [[1, '{"a":"x\u2028y"}']] },
    {
      name: 'a byte order mark',
      blocks: ['\ufeffa\n\ufeffb'],
      gives: [
        [1, 'a'],
        [2, '\ufeffb'],
      ],
    },
    { name: 'nothing', blocks: ['', ''], gives: [] },
    {
      name: 'a line over the limit',
      blocks: ['aaaa', 'aaaa\nb\ncccccc'],
      limit: 5,
      gives: [
        [1, undefined],
        [2, 'b'],
        [3, undefined],
      ],
    },
  ];
  for (const { name, blocks, gives, limit } of cases) {
    it(name, async () => expect(await lines(blocks, limit)).toEqual(gives));
  }
  it('a code point cut by a block border stays whole', async () => {
    const bytes = Buffer.from('😀\n');
    expect(await lines([bytes.subarray(0, 2), bytes.subarray(2)])).toEqual([[1, '😀']]);
  });
});
