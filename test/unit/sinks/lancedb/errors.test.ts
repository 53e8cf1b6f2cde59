import { describe, expect, it } from 'vitest';
import { ServingError } from '../../../../src/errors.ts';
import { translateLanceDbError } from '../../../../src/sinks/lancedb/errors.ts';
import { isIn, literal, slices } from '../../../../src/sinks/lancedb/sql.ts';

/** Texts as LanceDB 0.31 gives them. */
const cases = [
  {
    text: 'lance error: LanceError(IO): No space left on device (os error 28), /x/writer.rs:319:9',
    code: 'SINK_FULL',
    class: 'outage',
  },
  { text: 'LanceError(IO): Disk quota exceeded (os error 122)', code: 'SINK_FULL', class: 'outage' },
  { text: 'Unable to open: Permission denied (os error 13)', code: 'SINK_ACCESS_DENIED', class: 'fatal' },
  { text: 'Read-only file system (os error 30)', code: 'SINK_ACCESS_DENIED', class: 'fatal' },
  {
    text: 'IO error for operation on /x/t.lance/_versions: Not a directory (os error 20)',
    code: 'CONFIG_INVALID',
    class: 'fatal',
  },
  { text: 'No such file or directory (os error 2)', code: 'SINK_UNAVAILABLE', class: 'outage' },
  { text: 'Panic in async function', code: 'SINK_UNAVAILABLE', class: 'outage' },
];

describe('translateLanceDbError', () => {
  for (const { text, code, class: failureClass } of cases) {
    it(`"${text.slice(0, 40)}…" is ${code}, ${failureClass}`, () => {
      const cause = Object.assign(new Error(text), { code: 'GenericFailure' });
      const error = translateLanceDbError(cause, 'LanceDB write', '/data');
      expect(error).toMatchObject({ code, failureClass, cause });
      expect(error.message).toMatch(/LanceDB write.*\/data/);
    });
  }

  it("takes Node's own errors by their code, and passes ours on", () => {
    const denied = Object.assign(new Error('EACCES: permission denied'), { code: 'EACCES' });
    expect(translateLanceDbError(denied, 'opening', '/data').code).toBe('SINK_ACCESS_DENIED');
    const own = new ServingError('ARGUMENT_INVALID', 'own');
    expect(translateLanceDbError(own, 'search', '/data')).toBe(own);
  });
});

describe('filters', () => {
  it('an id cannot leave its literal', () => {
    expect(literal("a'; DROP TABLE x; --")).toBe("'a''; DROP TABLE x; --'");
    expect(literal("''")).toBe("''''''");
    expect(isIn('chunk_id', ['a', "b'"])).toBe("chunk_id IN ('a', 'b''')");
  });

  it('slices a list without losing a piece', () => {
    expect([...slices([1, 2, 3, 4, 5], 2)]).toEqual([[1, 2], [3, 4], [5]]);
    expect([...slices([], 2)]).toEqual([]);
  });
});

/** Texts as LanceDB 0.31 gives them. */
const fromStores = [
  {
    text: 'Server returned non-2xx status code: 404 Not Found: <Error><Code>NoSuchBucket</Code>',
    code: 'CONFIG_INVALID',
  },
  { text: 'status code: 403 Forbidden: <Error><Code>AccessDenied</Code><Secret>', code: 'SINK_ACCESS_DENIED' },
  { text: 'Failed to get AWS credentials: CredentialsNotLoaded(', code: 'SINK_ACCESS_DENIED' },
  { text: 'after 2 retries - HTTP error: error sending request', code: 'SINK_UNAVAILABLE' },
  { text: 'status code: 503 Service Unavailable: <Error><Code>SlowDown</Code>', code: 'SINK_UNAVAILABLE' },
];

describe('errors of an object store', () => {
  for (const { text, code } of fromStores) {
    it(`"${text.slice(0, 60)}…" is ${code}, and its text is not passed on`, () => {
      const error = translateLanceDbError(new Error(text), 'LanceDB write', 's3://bucket/db');
      expect(error).toMatchObject({ code, message: expect.stringContaining('s3://bucket/db') });
      expect(error.cause).toBeUndefined();
      expect(error.message).not.toMatch(/Secret|status code/);
    });
  }
});
