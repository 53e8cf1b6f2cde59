/**
 * A sentinel through every public path of the library that throws, refuses or logs: whatever comes out, as a line of the log
 * or as words on the terminal, does not hold it.
 */
import { status } from '@grpc/grpc-js';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { checkCandidates, checkQuery, checkTopK } from '../../../online/arguments.ts';
import { readSettings } from '../../../online/settings.ts';
import { allSettings } from '../../../src/config/catalogue.ts';
import { readEngineConfig, readOnlineConfig, readWorkerConfig } from '../../../src/config/programs.ts';
import { environmentSecrets, printableConfig, secretSpellings } from '../../../src/config/redact.ts';
import { readProduceConfig } from '../../../src/config/tool-programs.ts';
import { fromGrpcError, fromStreamError } from '../../../src/inference/grpc-errors.ts';
import { decodeMessage } from '../../../src/kafka/decode.ts';
import { kafkaError } from '../../../src/kafka/kafka-errors.ts';
import { readAwsInstanceAction, readAwsRebalance } from '../../../src/lifecycle/spot-aws.ts';
import { readAzureEvents } from '../../../src/lifecycle/spot-azure.ts';
import { readHook } from '../../../src/lifecycle/spot-hook.ts';
import { retryError } from '../../../src/retry/redis-errors.ts';
import { translateLanceDbError } from '../../../src/sinks/lancedb/errors.ts';
import { translateRedisError } from '../../../src/sinks/redis/errors.ts';
import { machine, minimal } from '../config/machine.ts';
import { raw } from '../kafka/messages.ts';
import { said } from './said.ts';

const S = 'SENTINEL';
/** A text of a user as it may stand in a message: words, not a name. */
const TEXT = `how do I tell nobody about ${S} at all`;
const RUNS = { numRuns: 300 };

function thrownBy(run: () => unknown): unknown {
  try {
    run();
  } catch (error) {
    return error;
  }
  return undefined;
}

/** Ours are written to be logged, also as their bare message. */
function saidOfOurs(thing: unknown): string {
  return `${said(thing)}\n${thing instanceof Error ? `${thing.message} ${JSON.stringify((thing as { details?: unknown }).details)}` : ''}`;
}

const node = (run: () => unknown) => () => thrownBy(run);
const database = (message: string, more: object = {}) =>
  Object.assign(new Error(message), { name: 'error', code: '22P02', severity: 'ERROR', ...more });

/** Errors of others that quote what they were given. */
const quoting: Readonly<Record<string, () => unknown>> = {
  'JSON.parse': node(() => JSON.parse(`{"text": "${TEXT}`)),
  'JSON.parse at the start': node(() => JSON.parse(TEXT)),
  'JSON.parse, wrapped as text': () => new Error(`cannot read message: ${String(thrownBy(() => JSON.parse(TEXT)))}`),
  'a URL that is none': node(() => new URL(`http://[${S}`)),
  'an argument of Node': node(() => Buffer.alloc(TEXT as unknown as number)),
  'a header of Node': node(() => new Headers({ [TEXT]: 'x' })),
  'a regular expression': node(() => new RegExp(`(${S}`)),
  decodeURIComponent: node(() => decodeURIComponent(`%${S}`)),
  BigInt: node(() => BigInt(S)),
  'SQL: a value': () => database(`invalid input syntax for type json: "${S}"`, { detail: `Token "${S}" is invalid.` }),
  'SQL: a row': () => database(`Key (chunk_id)=(${S}) already exists.`, { where: S, code: '23505' }),
  'SQL: another client': () => Object.assign(new Error(`near ${TEXT}: syntax error`), { name: 'SqliteError' }),
  'Redis: its arguments': () =>
    Object.assign(new Error(`ERR unknown command 'x', with args beginning with: '${S}'`), {
      name: 'ReplyError',
      command: { args: [S] },
    }),
  'a library that quotes': () => new Error(`tokenizer cannot read "${TEXT}" at 3`),
  'a library that quotes in backticks': () => new Error(`bad row \`${TEXT}\``),
  'an object that hangs on it': () =>
    Object.assign(new Error('x'), { query: TEXT, config: { url: TEXT }, response: { data: TEXT } }),
  'a text that is thrown': () => new Error('x', { cause: TEXT }),
  'an object that is thrown': () => ({ toString: () => TEXT, text: TEXT, payload: TEXT }),
  'a getter': () => Object.defineProperty(new Error('x'), 'message', { get: () => `"${TEXT}"` }),
  'a name': () => Object.assign(new Error('x'), { name: 'SyntaxError', message: TEXT }),
};

describe('errors of others that quote a text', () => {
  const wraps: readonly ((inner: unknown) => unknown)[] = [
    (inner) => new Error('outer', { cause: inner }),
    (inner) => new AggregateError([inner, inner], 'several'),
    (inner) => kafkaError(inner, 'read'),
    (inner) => retryError(inner, 'write', 'redis:6379'),
    (inner) => translateRedisError(inner, 'write', 'redis:6379'),
    (inner) => translateLanceDbError(inner, 'write', 'folder'),
    (inner) => Object.assign(new Error('has it'), { originalError: inner, error: inner }),
  ];
  for (const [name, make] of Object.entries(quoting)) {
    it(`${name}: alone, and in any wrapping`, () => {
      expect(make(), 'the case makes one').toBeDefined();
      fc.assert(
        fc.property(fc.array(fc.constantFrom(...wraps), { maxLength: 4 }), (layers) => {
          const error = layers.reduce((inner, layer) => layer(inner), make());
          expect(said(error)).not.toContain(S);
        }),
        { numRuns: 40 },
      );
    });
  }
});

describe('settings', () => {
  const settings = allSettings.map(({ name }) => name);
  const readers = [
    readWorkerConfig,
    (env: object) => readProduceConfig(env as never, {}, machine()),
    readEngineConfig,
    readOnlineConfig,
  ];

  it('refused, whatever they hold, are told by name and shape', () => {
    const value = fc.constantFrom(
      S,
      `${S} ${S}`,
      `http://u:${S}@`,
      `redis://u:${S}@h:x`,
      `${S},${S}`,
      `{"a":"${S}"}`,
      `-1${S}`,
    );
    fc.assert(
      fc.property(fc.constantFrom(...settings), value, fc.constantFrom(...readers), (name, text, read) => {
        const env = { ...minimal, [name]: text };
        const error = thrownBy(() => read(env, machine()));
        if (error !== undefined) expect(saidOfOurs(error)).not.toContain(S);
      }),
      RUNS,
    );
  });

  it('that are secret show in no dump of the configuration and in no line that quotes one', () => {
    const env = {
      ...minimal,
      RAG_SERVING_API_KEY: `${S}-api`,
      KAFKA_SASL_USERNAME: 'user',
      KAFKA_SASL_PASSWORD: `${S}/p@ss word`,
      RAG_SERVING_REDIS_URL: `redis://u:${S}%40x@h:6379/0`,
      AWS_ACCESS_KEY_ID: `${S}id`,
      AWS_SECRET_ACCESS_KEY: `${S}secret`,
      HF_TOKEN: `${S}hub`,
    };
    const config = readWorkerConfig(env, machine());
    expect(JSON.stringify(printableConfig(config))).not.toContain(S);
    expect(JSON.stringify(config)).not.toContain(S);
    for (const spelling of [...secretSpellings(config), ...environmentSecrets(env)]) {
      expect(said(new Error(`refused ${spelling}!`), env)).not.toContain(S);
    }
  });
});

describe('messages of Kafka', () => {
  const options = { maxTextBytes: 64, oversizedText: 'reject', keepUnknownFields: true } as const;
  const some = fc.constantFrom<unknown>(S, TEXT, { [S]: S }, [S], 7, null, '', ' ', S.repeat(100));
  const chunk = fc.dictionary(
    fc.constantFrom('chunk_id', 'document_id', 'text', 'tenant_id', 'version', 'metadata', 'chunks', S),
    some,
  );
  const value = fc.oneof(
    chunk,
    fc.array(chunk, { maxLength: 3 }).map((chunks) => ({ document_id: S, chunks })),
    fc.constantFrom(TEXT, `{"text":"${S}`, `"${S}"`, `[${S}]`, null),
    fc.uint8Array({ maxLength: 8 }).map((bytes) => Buffer.concat([Buffer.from(S), bytes])),
  );
  it('that cannot be decoded are refused without a word of theirs', () => {
    fc.assert(
      fc.property(value, fc.constantFrom(S, null), (content, key) => {
        const headers = [['rag-scope', Buffer.from(S)]] as const;
        const message = raw({ value: content, key, headers: headers as never });
        for (const record of decodeMessage(message, options, () => {})) {
          if ('error' in record) expect(saidOfOurs(record.error)).not.toContain(S);
        }
      }),
      { numRuns: 1_000 },
    );
  });
});

describe('answers of servers', () => {
  it('of the model, in words of its own or those of the transport', () => {
    const words = fc.constantFrom(
      TEXT,
      `exceeds maximum queue size ${S}`,
      `unable to find shared memory region: '${S}'`,
      `ValueError: ${S}`,
      `not ready: ${S}`,
    );
    const codes = Object.values(status).filter((code): code is status => typeof code === 'number');
    fc.assert(
      fc.property(words, fc.constantFrom(...codes), fc.boolean(), (details, code, aborted) => {
        const error = Object.assign(new Error(`${code} X: ${details}`), { code, details, metadata: {} as never });
        const call = { kind: 'infer', method: 'ModelInfer', endpoint: 'e:1', aborted } as const;
        expect(saidOfOurs(fromGrpcError(error, call))).not.toContain(S);
        expect(saidOfOurs(fromStreamError(details, 'e:1'))).not.toContain(S);
      }),
      RUNS,
    );
  });

  it('of the metadata of a cloud, or of a hook', () => {
    const body = fc.constantFrom(
      S,
      `{"action":"${S}"}`,
      `{"Events":[{"EventType":"${S}","Resources":"${S}"}]}`,
      `{"left_ms":"${S}"}`,
      `{"deadline":"${S}"}`,
    );
    fc.assert(
      fc.property(body, (text) => {
        const readings = [
          readAwsInstanceAction(text, 0),
          readAwsRebalance(text),
          readAzureEvents(text, 'm', 0),
          readHook(text, 0),
        ];
        const problems = readings.flat().map((reading) => (reading as { problem?: unknown }).problem);
        expect(JSON.stringify(problems)).not.toContain(S);
      }),
    );
  });
});

it('arguments of the online module are refused by shape', () => {
  const anything = fc.oneof(
    fc.constantFrom<unknown>(S, [S], { text: S }, { id: S }, [{ id: S, text: 1 }], [[S]], Symbol(S)),
    fc.anything(),
  );
  const calls = [
    (value: unknown) => checkQuery(value, 'query'),
    (value: unknown) => checkCandidates(value as never),
    (value: unknown) => checkTopK(value as never, 3),
    (value: unknown) => readSettings({ embed: value } as never, machine()),
    (value: unknown) => readSettings({ apiKey: value, metadata: value } as never, machine()),
  ];
  fc.assert(
    fc.property(anything, fc.constantFrom(...calls), (value, call) => {
      const error = thrownBy(() => call(value));
      if (error !== undefined) expect(saidOfOurs(error)).not.toContain(S);
    }),
    RUNS,
  );
});
