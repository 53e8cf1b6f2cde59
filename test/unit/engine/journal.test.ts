import { createHash } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Journal } from '../../../src/engine/journal.ts';
import { plainSynthetic, SyntheticCompute, syntheticEmbedding } from '../../../src/engine/synthetic-compute.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'rag-journal-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const bytes = (text: string) => Buffer.from(text);
const sha256 = (text: string) => createHash('sha256').update(text).digest('hex');

describe('Journal', () => {
  it('has a line for each text that was executed, and a later engine goes on in the same file', async () => {
    const path = join(folder, 'journal');
    for (const texts of [['a', 'b'], ['a']]) {
      const journal = new Journal(path);
      const compute = journal.around(new SyntheticCompute(plainSynthetic, syntheticEmbedding(4)));
      const [row] = await compute.run([[texts.map(bytes)]]);
      expect(row).toHaveLength(texts.length * 8);
      journal.close();
    }
    const lines = readFileSync(path, 'utf8').trimEnd().split('\n');
    expect(lines.map((line) => line.split(' ')[1])).toEqual([sha256('a'), sha256('b'), sha256('a')]);
    for (const line of lines) expect(Math.abs(Number(line.split(' ')[0]) - Date.now())).toBeLessThan(60_000);
  });

  it('a file that cannot be made is a wrong setting', () => {
    expect(() => new Journal(join(folder, 'nowhere', 'journal'))).toThrow(/--journal .* cannot be written/);
  });
});
