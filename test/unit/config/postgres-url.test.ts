import { describe, expect, it } from 'vitest';
import { judgePostgresUrl } from '../../../src/config/postgres-url.ts';

describe('a PostgreSQL URL', () => {
  it('is taken apart, white space around it dropped, its parts decoded (F03)', () => {
    expect(
      judgePostgresUrl(' postgres://rag:p%40ss%3Aw%2Ford%231%2B%25@db.local:6432/chunks?sslmode=verify-full\n'),
    ).toEqual({
      ok: true,
      value: {
        ...{ host: 'db.local', port: 6432, user: 'rag', password: 'p@ss:w/ord#1+%', database: 'chunks' },
        sslMode: 'verify-full',
      },
    });
    expect(judgePostgresUrl('postgresql://rag@[::1]')).toEqual({
      ok: true,
      value: { host: '::1', port: 5432, user: 'rag', password: undefined, database: 'rag', sslMode: 'disable' },
    });
  });

  const refused = [
    'postgres://rag:p@ss/w@host/db',
    'postgres://rag:p#ss@host/db',
    'postgres://rag:50%@host/db',
    'postgres://host/db',
    'postgres://rag@host/db?sslmode=prefer',
    'postgres://rag@host/db?sslmode=require&password=x',
    'postgres://rag@host/db/more',
    'postgres:///db',
    'mysql://rag@host/db',
    'postgres://rag@ho st/db',
  ];
  for (const url of refused) {
    it(`is refused without being quoted: ${url}`, () => {
      const judged = judgePostgresUrl(url);
      if (judged.ok) throw new Error('it was taken');
      expect(judged.problem).toMatch(/percent-encoded/);
      expect(judged.problem).not.toContain('host/db');
    });
  }
});
