import { describe, expect, it } from 'vitest';
import { type TlsPaths, tlsProblems } from '../../../src/config/file-types.ts';
import { oneCert, oneKey, twoCert } from './pem.ts';

/** Of both certificates: from 2026-11-30 to 2126-11-06. */
const VALID = Date.parse('2030-01-01');
const BEFORE = Date.parse('2020-01-01');
const AFTER = Date.parse('2200-01-01');
const damaged = oneCert.replace(/MIIB/, 'AAAA');

function problems(paths: Partial<TlsPaths>, nowMs: number, files: Readonly<Record<string, string>>): string[] {
  const all = { caPath: undefined, certPath: undefined, keyPath: undefined, ...paths };
  return tlsProblems(all, nowMs, (path) => files[path]!).map(({ part, says }) => `${part} ${says}`);
}

describe('TLS files', () => {
  it('a certificate that is not valid yet is told with the day, and what to do', () => {
    const files = { c: oneCert, k: oneKey };
    expect(problems({ certPath: 'c', keyPath: 'k' }, VALID, files)).toEqual([]);
    expect(problems({ certPath: 'c', keyPath: 'k' }, BEFORE, files)).toEqual([
      'certPath names a certificate that is not valid before Nov 30 09:47:24 2026 GMT; set one that is, or the clock of this machine (c)',
    ]);
  });

  it('a bundle of authorities is good when one of them is, whichever', () => {
    for (const bundle of [damaged + twoCert, twoCert + damaged, `# comment\n${damaged}\n${oneCert}`]) {
      expect(problems({ caPath: 'ca' }, VALID, { ca: bundle })).toEqual([]);
    }
  });

  it('a bundle without a good one is told by its first', () => {
    const says = (ca: string, nowMs: number) => problems({ caPath: 'ca' }, nowMs, { ca });
    expect(says(oneCert + twoCert, AFTER)).toEqual([expect.stringMatching(/^caPath names a certificate that expired/)]);
    expect(says(damaged + oneCert, AFTER)).toEqual([expect.stringMatching(/PEM certificate is damaged/)]);
    expect(says('no pem', VALID)).toEqual([expect.stringMatching(/without a PEM certificate/)]);
  });
});
