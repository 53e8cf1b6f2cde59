import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { Secret } from '../../../src/config/secret.ts';
import { ServingError } from '../../../src/errors.ts';
import { createRedactor } from '../../../src/telemetry/redaction.ts';

const redactor = createRedactor();
const S = 'SENTINEL';
const print = (fields: Record<string, unknown>): string => JSON.stringify(redactor.fields(fields));

function thrownBy(run: () => unknown): unknown {
  try {
    run();
  } catch (error) {
    return error;
  }
  throw new Error('nothing was thrown');
}

const forbidden = [
  'text',
  'Text',
  'rejectedText',
  'chunk_text',
  'vector',
  'queryVector',
  'embedding',
  'EMBEDDINGS',
  'value',
  'password',
  'redis_password',
  'passwordHash',
  'token',
  'accessToken',
  'HF_TOKEN',
  'secret',
  'awsSecretAccessKey',
  'AWS_ACCESS_KEY_ID',
  'authorization',
  'Authorization',
  'api_key',
  'apiKey',
  'x-api-key',
  'apikey',
  'sasl',
  'saslMechanism',
  'credentials',
  'cookie',
  'metadata',
  'query',
  'passages',
];

describe('forbidden keys', () => {
  for (const key of forbidden) {
    it(`${key} is redacted, whatever it holds and however deep`, () => {
      for (const content of [S, [S], { a: S }, Buffer.from(S), new Error(S)]) {
        expect(print({ [key]: content })).not.toContain(S);
        expect(print({ a: [{ b: { [key]: content } }] })).not.toContain(S);
      }
    });
  }
  for (const key of ['textBytes', 'tokenCount', 'context', 'valueLength', 'rows', 'topic', 'key', 'vectorBytes']) {
    it(`${key} with a number is shown`, () => expect(redactor.fields({ [key]: 42 })).toEqual({ [key]: 42 }));
  }
});

describe('errors', () => {
  it('keep code, class, message, details and causes of ours', () => {
    const cause = Object.assign(new Error('connect ECONNREFUSED 127.0.0.1:6379'), {
      code: 'ECONNREFUSED',
      syscall: 'connect',
    });
    const error = new ServingError('SINK_UNAVAILABLE', 'redis does not answer', {
      cause,
      details: { attempts: 3, text: S },
    });
    const { error: told } = redactor.fields({ error }) as { error: Record<string, unknown> };
    expect(told).toMatchObject({
      type: 'ServingError',
      code: 'SINK_UNAVAILABLE',
      failureClass: 'outage',
      message: 'redis does not answer',
      details: { attempts: 3, text: '[redacted]' },
      cause: {
        type: 'Error',
        code: 'ECONNREFUSED',
        syscall: 'connect',
        message: 'connect ECONNREFUSED 127.0.0.1:6379',
      },
    });
    expect(told.stack).toMatch(/^ {4}at .*redaction\.test\.ts:\d+:\d+/);
  });

  const quoting: { name: string; error: () => unknown }[] = [
    { name: 'JSON.parse', error: () => thrownBy(() => JSON.parse(`${S} is no JSON`)) },
    { name: 'JSON.parse of a longer text', error: () => thrownBy(() => JSON.parse(`{"text":"${S}`)) },
    { name: 'BigInt', error: () => thrownBy(() => BigInt(S)) },
    { name: 'zod', error: () => thrownBy(() => z.strictObject({}).parse({ [S]: 1 })) },
    {
      name: 'zod, custom message',
      error: () =>
        thrownBy(() =>
          z
            .string()
            .refine(() => false, S)
            .parse('x'),
        ),
    },
    {
      name: 'a Node argument error',
      error: () => thrownBy(() => Buffer.from('').readUInt8(S as unknown as number)),
    },
    { name: 'a Node path error', error: () => thrownBy(() => new URL(`http://[${S}`)) },
    {
      name: 'a Redis reply with its command',
      error: () =>
        Object.assign(new Error(`ERR unknown command 'HSTE', with args beginning with: '${S}'`), {
          name: 'ReplyError',
          command: { name: 'hset', args: ['k', Buffer.from(S), S] },
        }),
    },
    { name: 'a long quotation', error: () => new Error(`cannot store "${S}${'x'.repeat(60)}" here`) },
    { name: 'a thrown text as cause', error: () => new ServingError('INTERNAL', 'unexpected string', { cause: S }) },
    { name: 'a thrown object as cause', error: () => new Error('x', { cause: { chunk: S } }) },
    {
      name: 'foreign properties',
      error: () => Object.assign(new Error('x'), { input: S, value: S, headers: [S], data: S }),
    },
    { name: 'a message of several lines', error: () => new SyntaxError(`bad\n    at ${S} (x:1:1)\n${S}`) },
    { name: 'an aggregate', error: () => new AggregateError([thrownBy(() => JSON.parse(S))], 'all failed') },
  ];
  for (const { name, error } of quoting) {
    it(`${name} does not leak its input, as itself, as a cause, in a stack`, () => {
      const given = error();
      expect(print({ error: given })).not.toContain(S);
      expect(print({ error: new Error('outer', { cause: given }) })).not.toContain(S);
      expect(print({ a: [given] })).not.toContain(S);
    });
  }

  it('credentials in URLs are masked in message, stack, cause and code (M09)', () => {
    const url = `redis://default:pw-${S}@localhost:1`;
    const cause = Object.assign(new Error(`cannot reach ${url}`), { code: url });
    const out = print({ error: new Error(`failed: ${url}`, { cause }), url: new URL(url), note: `see ${url}` });
    expect(out).not.toContain(S);
    expect(out).toContain('redis://[redacted]@localhost:1');
  });

  it('end in a cycle of causes', () => {
    const error = new Error('a');
    error.cause = new Error('b', { cause: error });
    expect(print({ error })).toContain('[circular]');
  });
});

describe('known secrets', () => {
  it('are masked wherever they occur, keys included', () => {
    const knowing = createRedactor({ secrets: [`plain-${S}`] });
    const out = JSON.stringify(
      knowing.fields({ note: `user plain-${S}!`, [`plain-${S}`]: 1, error: new Error(`SASL failed for plain-${S}`) }),
    );
    expect(out).not.toContain(S);
  });
  it('a Secret shows its printable form', () => expect(redactor.value(new Secret(S))).toBe('[set]'));
});

describe('odd values', () => {
  const revoked = Proxy.revocable({}, {});
  revoked.revoke();
  const hostile: Record<string, unknown> = {
    getter: Object.defineProperty({}, 'a', {
      enumerable: true,
      get: () => {
        throw new Error(S);
      },
    }),
    revoked: revoked.proxy,
    ownKeys: new Proxy({}, { ownKeys: () => thrownBy(() => JSON.parse(S)) as never }),
    errorGetter: Object.defineProperty(new Error('x'), 'message', {
      get: () => {
        throw new Error(S);
      },
    }),
    noPrototype: Object.assign(Object.create(null), { a: 1 }),
    custom: new (class Message {
      held = S;
      toJSON() {
        return S;
      }
    })(),
    map: new Map([[S, S]]),
    buffer: Buffer.alloc(50_000_000),
    floats: new Float32Array(384),
    numbers: Array.from({ length: 384 }, () => 0.1),
    bigint: 12n,
    nan: Number.NaN,
    symbol: Symbol(S),
    fn: () => S,
    date: new Date(Number.NaN),
    long: 'y'.repeat(5_000_000),
    surrogate: `${'x'.repeat(2_047)}😀tail`,
    proto: JSON.parse('{"__proto__":{"a":1}}'),
  };
  for (const [name, content] of Object.entries(hostile)) {
    it(`${name} neither throws nor leaks nor takes long`, () => {
      const began = performance.now();
      const out = print({ [name]: content });
      expect(performance.now() - began).toBeLessThan(200);
      expect(out).not.toContain(S);
      expect(out.length).toBeLessThan(20_000);
      expect(out).not.toMatch(/\\ud[89a-f]/i);
    });
  }
  it('shapes tell what was there', () => {
    expect(
      redactor.fields({ a: Buffer.alloc(3), b: new Array(40).fill('x'), c: hostile.numbers, d: 12n }),
    ).toMatchObject({
      a: '[Buffer of 3 bytes]',
      c: '[384 numbers]',
      d: '12',
    });
    expect(redactor.text('z'.repeat(3_000))).toBe(`${'z'.repeat(2_048)}… [cut, 3000 characters]`);
  });
  it('ends in a cycle and in the depth', () => {
    const ring: Record<string, unknown> = {};
    ring.self = ring;
    expect(print({ ring })).toContain('[circular]');
    let deep: unknown = S;
    for (let level = 0; level < 50; level++) deep = { deep };
    expect(print({ deep })).not.toContain(S);
  });
});

describe('any nesting', () => {
  const leaf = fc.constantFrom<(content: unknown) => unknown>(
    (content) => ({ text: content }),
    (content) => ({ kafka: { saslPassword: content } }),
    (content) => [{ value: content }],
    () => `amqp://u:${S}@h`,
    () => thrownBy(() => JSON.parse(`{${S}`)),
    (content) => Object.assign(new Error('x'), { command: content }),
    (content) => new Error('outer', { cause: content }),
    (content) => new ServingError('CHUNK_INVALID', 'bad chunk', { details: { embedding: content } }),
    (content) => new Map([['k', content]]),
  );
  const wrap = fc.constantFrom<(inner: unknown) => unknown>(
    (inner) => ({ topic: 't', inner }),
    (inner) => [1, inner, null],
    (inner) => new Error('wrapped', { cause: inner }),
    (inner) => new AggregateError([inner], 'several'),
    (inner) => new ServingError('INTERNAL', 'wrapped', { cause: inner, details: { inner } }),
    (inner) => ({
      get lazy() {
        return inner;
      },
    }),
  );
  it('never shows the sentinel and never throws', () => {
    fc.assert(
      fc.property(leaf, fc.array(wrap, { maxLength: 8 }), fc.anything(), (make, wraps, noise) => {
        const content = wraps.reduce((inner, layer) => layer(inner), make(S));
        expect(print({ content_: 1, error: content, noise })).not.toContain(S);
      }),
      { numRuns: 1_000 },
    );
  });
  it('takes anything at all and gives JSON', () => {
    fc.assert(
      fc.property(fc.anything({ withBigInt: true, withDate: true, withMap: true, withTypedArray: true }), (any) => {
        expect(() => JSON.parse(print({ any }))).not.toThrow();
      }),
    );
  });
});
