import { describe, expect, it } from 'vitest';
import type { ErrorCode } from '../../../../src/errors.ts';
import { isConflict, isRowFault, translatePostgresError } from '../../../../src/sinks/pgvector/errors.ts';

function failure(code: string, more: object = {}): Error {
  return Object.assign(new Error('Key (chunk_id)=(text-SENTINEL) already exists'), { code, ...more });
}

describe('errors of PostgreSQL', () => {
  const table: readonly (readonly [state: string, code: ErrorCode, says: RegExp])[] = [
    ['ECONNREFUSED', 'SINK_UNAVAILABLE', /cannot be reached.*ECONNREFUSED/],
    ['EPIPE', 'SINK_UNAVAILABLE', /cannot be reached.*EPIPE/],
    ['08006', 'SINK_UNAVAILABLE', /08006/],
    ['22021', 'SINK_ROW_REFUSED', /value of the row/],
    ['23514', 'SINK_ROW_REFUSED', /rule of the table/],
    ['25006', 'SINK_UNAVAILABLE', /read-only standby/],
    ['28P01', 'SINK_ACCESS_DENIED', /RAG_SERVING_PGVECTOR_URL/],
    ['3D000', 'CONFIG_INVALID', /no such database/],
    ['42501', 'SINK_ACCESS_DENIED', /may not/],
    ['42P01', 'SINK_SCHEMA_MISMATCH', /not what it was/],
    ['53100', 'SINK_FULL', /disk is full/],
    ['53300', 'SINK_UNAVAILABLE', /POOL_SIZE/],
    ['54001', 'SINK_ROW_REFUSED', /rule of the table/],
    ['57014', 'SINK_UNAVAILABLE', /STATEMENT_TIMEOUT/],
    ['57P01', 'SINK_UNAVAILABLE', /57P01/],
    ['P0001', 'SINK_ROW_REFUSED', /trigger/],
    ['XX000', 'SINK_UNAVAILABLE', /see its log/],
  ];
  for (const [state, code, says] of table) {
    it(`${state} is ${code}`, () => {
      const error = translatePostgresError(failure(state), 'write', 'db:5432/rag');
      expect(error).toMatchObject({ code, message: expect.stringMatching(says) });
      expect(error.message).toContain('db:5432/rag');
    });
  }

  it('names what was broken and never what a row held', () => {
    const detail = 'Failing row contains (text-SENTINEL)';
    const error = translatePostgresError(failure('23514', { constraint: 'short_ids', detail }), 'write', 'db');
    expect(error.message).toContain('constraint short_ids');
    const cause = error.cause as Error;
    expect(`${error.message}${error.stack}${cause.message}${cause.stack}${JSON.stringify(cause)}`).not.toContain(
      'SENTINEL',
    );
  });

  it('tells what may be tried again from what a row has done', () => {
    expect(['40001', '40P01', '55P03', '23505', 'EPIPE'].map((state) => isConflict(failure(state)))).toEqual([
      ...[true, true, true],
      ...[false, false],
    ]);
    expect(['22021', '23514', '54001', 'P0001', '53100', '42501', 'EPIPE'].map((s) => isRowFault(failure(s)))).toEqual([
      ...[true, true, true, true],
      ...[false, false, false],
    ]);
  });
});
