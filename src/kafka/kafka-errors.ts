/**
 * What kafkajs throws, as ServingErrors. kafkajs wraps errors in "retries exceeded" and "non-retriable" shells, so what
 * counts is the broker's error type at the bottom of the cause chain, never the message.
 */
import { type ErrorCode, ServingError } from '../errors.ts';

const BY_TYPE: Readonly<Record<string, ErrorCode>> = {
  TOPIC_AUTHORIZATION_FAILED: 'KAFKA_ACCESS_DENIED',
  GROUP_AUTHORIZATION_FAILED: 'KAFKA_ACCESS_DENIED',
  CLUSTER_AUTHORIZATION_FAILED: 'KAFKA_ACCESS_DENIED',
  TRANSACTIONAL_ID_AUTHORIZATION_FAILED: 'KAFKA_ACCESS_DENIED',
  SASL_AUTHENTICATION_FAILED: 'KAFKA_ACCESS_DENIED',
  UNSUPPORTED_SASL_MECHANISM: 'KAFKA_ACCESS_DENIED',
  UNKNOWN_TOPIC_OR_PARTITION: 'KAFKA_TOPIC_UNKNOWN',
  INVALID_TOPIC_EXCEPTION: 'KAFKA_TOPIC_UNKNOWN',
  UNSUPPORTED_COMPRESSION_TYPE: 'KAFKA_CODEC_UNSUPPORTED',
  INCONSISTENT_GROUP_PROTOCOL: 'KAFKA_GROUP_MISUSED',
  INVALID_SESSION_TIMEOUT: 'CONFIG_INVALID',
  INVALID_GROUP_ID: 'CONFIG_INVALID',
  MESSAGE_TOO_LARGE: 'CHUNK_TOO_LARGE',
  RECORD_LIST_TOO_LARGE: 'CHUNK_TOO_LARGE',
};

const BY_NAME: Readonly<Record<string, ErrorCode>> = {
  KafkaJSSASLAuthenticationError: 'KAFKA_ACCESS_DENIED',
  KafkaJSNotImplemented: 'KAFKA_CODEC_UNSUPPORTED',
};

/** What a broker says to a member that a rebalance has overtaken; the next generation puts it right. */
const STALE_MEMBER: ReadonlySet<string> = new Set(['ILLEGAL_GENERATION', 'UNKNOWN_MEMBER_ID', 'REBALANCE_IN_PROGRESS']);

const PROGRAMMING_ERRORS: ReadonlySet<string> = new Set(['TypeError', 'RangeError', 'ReferenceError', 'SyntaxError']);

const NO_COORDINATOR = 'KafkaJSGroupCoordinatorNotFound';
/** kafkajs's words for what a coordinator refuses: the type itself is gone by the time it has given up looking. */
const REFUSED: Readonly<Record<string, string>> = {
  'Not authorized to access group: Group authorization failed': 'GROUP_AUTHORIZATION_FAILED',
  'Transactional Id authorization failed': 'TRANSACTIONAL_ID_AUTHORIZATION_FAILED',
};

/** An error of one with a coordinator, with the last trouble of its connections: kafkajs finds none and does not say why. */
export function coordinatedError(error: unknown, doing: string, trouble: string | undefined): ServingError {
  const lost = trouble !== undefined && causes(error).some(({ name }) => name === NO_COORDINATOR);
  if (!lost) return kafkaError(error, doing);
  const refused = REFUSED[trouble];
  if (refused !== undefined) return build('KAFKA_ACCESS_DENIED', error, doing, refused);
  const message = `cannot ${doing}: no coordinator found (${trouble})`;
  return new ServingError('KAFKA_UNAVAILABLE', message, { cause: error });
}

/** `doing` says what failed, as in "cannot <doing>". */
export function kafkaError(error: unknown, doing: string): ServingError {
  const chain = causes(error);
  const ours = chain.find((one) => one instanceof ServingError);
  if (ours instanceof ServingError) return ours;
  const type = brokerErrorType(error);
  const named = chain.map(({ name }) => BY_NAME[name]).find((code) => code !== undefined);
  const code = (type === undefined ? undefined : BY_TYPE[type]) ?? named;
  if (code !== undefined) return build(code, error, doing, type);
  const isBug =
    chain.some(({ name }) => PROGRAMMING_ERRORS.has(name)) &&
    !chain.some(({ name }) => name.startsWith('KafkaJSConnection'));
  return build(isBug ? 'INTERNAL' : 'KAFKA_UNAVAILABLE', error, doing, type);
}

/** The broker's error type (`UNKNOWN_MEMBER_ID` …) or the socket's code (`ECONNREFUSED`, `CERT_HAS_EXPIRED` …). */
export function brokerErrorType(error: unknown): string | undefined {
  for (const one of causes(error).reverse()) {
    if (one instanceof ServingError) continue;
    if ('type' in one && typeof one.type === 'string') return one.type;
    if ('code' in one && typeof one.code === 'string') return one.code;
  }
  return undefined;
}

export function isStaleMember(error: unknown): boolean {
  const type = brokerErrorType(error);
  return type !== undefined && STALE_MEMBER.has(type);
}

/** Whether trying again may help: a topic that is not there may be made, and a surprise may not repeat itself. */
export function mayHeal(error: ServingError): boolean {
  return error.failureClass !== 'fatal' || error.code === 'KAFKA_TOPIC_UNKNOWN' || error.code === 'INTERNAL';
}

function build(code: ErrorCode, cause: unknown, doing: string, type: string | undefined): ServingError {
  const root = causes(cause).at(-1);
  // The one message of kafkajs that says more than its type: it names the codec, and nothing of a record.
  const missing = causes(cause).find(({ name }) => name === 'KafkaJSNotImplemented')?.message;
  const why = missing ?? type ?? root?.name ?? typeof cause;
  return new ServingError(code, `cannot ${doing}: ${why}`, { cause, details: { kafkaErrorType: type } });
}

/** Outermost first. An aggregate counts with its first error; a cycle ends the walk. */
function causes(error: unknown): Error[] {
  const chain: Error[] = [];
  for (let one: unknown = error; one instanceof Error && !chain.includes(one); one = causeOf(one)) chain.push(one);
  return chain;
}

function causeOf(error: Error): unknown {
  if ('errors' in error && Array.isArray(error.errors)) return error.errors[0];
  // Where records cannot be deleted, each partition has an error of its own.
  if ('partitions' in error && Array.isArray(error.partitions)) return error.partitions[0]?.error;
  return error.cause;
}
