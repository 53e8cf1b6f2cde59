import { createRequire } from 'node:module';
import kafkajs from 'kafkajs';
import { describe, expect, it } from 'vitest';
import { ServingError } from '../../../src/errors.ts';
import { brokerErrorType, coordinatedError, isStaleMember, kafkaError } from '../../../src/kafka/kafka-errors.ts';

const { KafkaJSError, KafkaJSNonRetriableError, KafkaJSConnectionError, KafkaJSNumberOfRetriesExceeded } = kafkajs;
const { createErrorFromCode } = createRequire(import.meta.url)('kafkajs/src/protocol/error') as {
  createErrorFromCode(code: number): Error;
};
const broker = (type: string) => Object.assign(new KafkaJSError('as the broker words it'), { type });
const wrapped = (cause: Error) => Object.assign(new KafkaJSNonRetriableError(cause), { cause });

describe('kafkaError', () => {
  const cases: { name: string; error: unknown; code: string; says?: string }[] = [
    {
      name: 'no right to read the topic',
      error: wrapped(broker('TOPIC_AUTHORIZATION_FAILED')),
      code: 'KAFKA_ACCESS_DENIED',
    },
    {
      name: 'no right to delete the records of a partition',
      error: wrapped(
        Object.assign(new KafkaJSError('x'), {
          partitions: [{ partition: 0, error: broker('TOPIC_AUTHORIZATION_FAILED') }],
        }),
      ),
      code: 'KAFKA_ACCESS_DENIED',
      says: 'TOPIC_AUTHORIZATION_FAILED',
    },
    { name: 'no right to join the group', error: broker('GROUP_AUTHORIZATION_FAILED'), code: 'KAFKA_ACCESS_DENIED' },
    {
      name: 'a wrong password',
      error: Object.assign(new Error('x'), { name: 'KafkaJSSASLAuthenticationError' }),
      code: 'KAFKA_ACCESS_DENIED',
    },
    {
      name: 'a topic that is not there, wrapped twice',
      error: wrapped(wrapped(broker('UNKNOWN_TOPIC_OR_PARTITION'))),
      code: 'KAFKA_TOPIC_UNKNOWN',
    },
    {
      name: 'a missing codec, by name',
      error: Object.assign(new Error('ZSTD compression not implemented'), { name: 'KafkaJSNotImplemented' }),
      code: 'KAFKA_CODEC_UNSUPPORTED',
      says: 'ZSTD',
    },
    {
      name: 'an unreachable broker',
      error: new KafkaJSConnectionError('x', { code: 'ECONNREFUSED' }),
      code: 'KAFKA_UNAVAILABLE',
      says: 'ECONNREFUSED',
    },
    {
      name: 'an expired certificate of the broker, with the TLS reason (F05)',
      error: new KafkaJSConnectionError('x', { code: 'CERT_HAS_EXPIRED' }),
      code: 'KAFKA_UNAVAILABLE',
      says: 'CERT_HAS_EXPIRED',
    },
    {
      name: 'retries that ran out',
      error: new KafkaJSNumberOfRetriesExceeded(broker('NOT_ENOUGH_REPLICAS'), { retryCount: 5, retryTime: 1 }),
      code: 'KAFKA_UNAVAILABLE',
      says: 'NOT_ENOUGH_REPLICAS',
    },
    {
      name: 'an aggregate of errors',
      error: Object.assign(new Error('x'), { errors: [broker('MESSAGE_TOO_LARGE')] }),
      code: 'CHUNK_TOO_LARGE',
    },
    { name: 'a bug', error: wrapped(new TypeError('x of undefined')), code: 'INTERNAL', says: 'TypeError' },
    { name: 'no error at all', error: 'text', code: 'KAFKA_UNAVAILABLE' },
  ];
  for (const { name, error, code, says = '' } of cases) {
    it(name, () => {
      const known = kafkaError(error, 'read');
      expect(known).toMatchObject({ code, cause: error });
      expect(known.message).toContain(`cannot read: ${says}`);
    });
  }

  it('lets our own errors through, however deep', () => {
    const ours = new ServingError('KAFKA_CODEC_UNSUPPORTED', 'cannot unpack');
    expect(kafkaError(wrapped(ours), 'read')).toBe(ours);
  });

  it('knows what a member hears that a rebalance has overtaken', () => {
    for (const type of ['ILLEGAL_GENERATION', 'UNKNOWN_MEMBER_ID', 'REBALANCE_IN_PROGRESS'])
      expect(isStaleMember(wrapped(broker(type)))).toBe(true);
    expect(isStaleMember(broker('NOT_ENOUGH_REPLICAS'))).toBe(false);
    expect(isStaleMember(undefined)).toBe(false);
  });

  describe('a coordinator that kafkajs does not find', () => {
    const error = Object.assign(new Error('Failed to find group coordinator'), {
      name: 'KafkaJSGroupCoordinatorNotFound',
    });
    it('is a refusal where the connection was told that the group is not ours to join (K08)', () => {
      // In kafkajs's own words, so that another version of it fails here.
      const { message } = createErrorFromCode(30);
      const known = coordinatedError(error, 'consume', message);
      expect(known).toMatchObject({ code: 'KAFKA_ACCESS_DENIED', failureClass: 'fatal' });
      expect(known.message).toBe('cannot consume: GROUP_AUTHORIZATION_FAILED');
    });
    it('is an outage with the trouble of the connection otherwise', () => {
      const known = coordinatedError(error, 'consume', 'Connection error: read ECONNRESET');
      expect(known.code).toBe('KAFKA_UNAVAILABLE');
      expect(known.message).toContain('read ECONNRESET');
    });
    it('without any trouble, and any other error, are what they are', () => {
      expect(coordinatedError(error, 'consume', undefined).code).toBe('KAFKA_UNAVAILABLE');
      expect(coordinatedError(broker('TOPIC_AUTHORIZATION_FAILED'), 'consume', 'x').code).toBe('KAFKA_ACCESS_DENIED');
    });
  });

  it('survives a cycle of causes', () => {
    const error = new Error('x');
    error.cause = error;
    expect(brokerErrorType(error)).toBeUndefined();
  });
});
