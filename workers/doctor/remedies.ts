/** What to do about an error, by its code and by what is at the bottom of it. Pure. */
import type { ErrorCode, ServingError } from '../../src/errors.ts';
import { fail, type Outcome } from './check.ts';

const BY_CODE: Partial<Record<ErrorCode, string>> = {
  KAFKA_UNAVAILABLE: 'start the broker, or set KAFKA_BOOTSTRAP_SERVERS to where it is; see also its firewall',
  KAFKA_TOPIC_UNKNOWN: 'create the topic, give this user DESCRIBE on it, or set KAFKA_TOPIC',
  KAFKA_ACCESS_DENIED: 'give the user of KAFKA_SASL_USERNAME this right (kafka-acls.sh), or set another user',
  SCHEMA_REGISTRY_UNAVAILABLE: 'start the schema registry, or set KAFKA_SCHEMA_REGISTRY_URL to where it is',
  SCHEMA_REGISTRY_ACCESS_DENIED:
    'set KAFKA_SCHEMA_REGISTRY_USERNAME and its password, or the token, that the registry knows',
  SCHEMA_MISMATCH: 'register a schema of chunks (examples/schemas), or set KAFKA_SCHEMA_SUBJECT',
  INFERENCE_UNAVAILABLE:
    'start the model server, or set RAG_SERVING_BATCH_INGEST_GRPC_URL to its gRPC address; with TLS see RAG_SERVING_GRPC_TLS_ENABLED',
  INFERENCE_DEADLINE: 'it takes connections and does not answer: see that this is its gRPC port, and its log',
  INFERENCE_ACCESS_DENIED: 'see the certificates and keys that the model server asks for',
  MODEL_NOT_READY: 'load the model (see the log of the model server), or set RAG_SERVING_MODEL_NAME',
  INFERENCE_REJECTED: 'load the model (see the log of the model server), or set RAG_SERVING_MODEL_NAME',
  MODEL_CONTRACT_MISMATCH: 'export the model anew, or set RAG_SERVING_MODEL_NAME to one that fits',
  SHM_INVALID: 'mount a tmpfs at /dev/shm, writable for this user, in the worker and in the model server',
  SHM_NO_SPACE: 'enlarge /dev/shm (emptyDir sizeLimit, docker --shm-size) or lower RAG_SERVING_SHM_SLOTS',
  SINK_UNAVAILABLE: 'start the store, or set its address to where it is',
  SINK_ACCESS_DENIED: 'give the user of the store this right, or set another user or password',
  SINK_SCHEMA_MISMATCH: 'name another collection, or take the model that filled this one',
  RETRY_QUEUE_UNAVAILABLE: 'start the Redis of retries, or set RAG_SERVING_RETRY_REDIS_URL to where it is',
  RETRY_QUEUE_ACCESS_DENIED: 'set user and password in RAG_SERVING_RETRY_REDIS_URL',
  DEPENDENCY_MISSING: 'install what the message names',
};

/** TLS and SASL, as Node and brokers name them. */
const BY_CAUSE: readonly (readonly [cause: RegExp, remedy: string])[] = [
  [
    /SELF_SIGNED|UNABLE_TO_|UNKNOWN_CA|self.signed|local issuer/i,
    'its certificate is of no authority known here: set the CA file (…_CA_CERT_PATH)',
  ],
  [/CERT_HAS_EXPIRED|certificate has expired/i, 'renew the certificate of the server'],
  [
    /ERR_TLS_CERT_ALTNAME|altnames/i,
    'the certificate of the server is for another name: use that name in the address, or issue another certificate',
  ],
  [
    /EPROTO|wrong version number|ERR_SSL|packet length/i,
    'one side speaks TLS and the other does not: see …_TLS_ENABLED and the port',
  ],
  [
    /SASL_AUTHENTICATION|SASLAuthentication/i,
    'set KAFKA_SASL_USERNAME and KAFKA_SASL_PASSWORD to ones that the broker knows',
  ],
  [/UNSUPPORTED_SASL|SASL .*mechanism/i, 'set KAFKA_SASL_MECHANISM to one that the broker takes'],
  [/ENOTFOUND|EAI_AGAIN/, 'the name cannot be looked up: see the address and the DNS'],
];

export function remedyOf({ code, message }: Pick<ServingError, 'code' | 'message'>): string {
  const byCause = BY_CAUSE.find(([cause]) => cause.test(message))?.[1];
  return byCause ?? BY_CODE[code] ?? 'do what the message says, then run the check again';
}

/** Only our own messages are shown: those of a library may hold a secret. */
export function failureOf(error: ServingError): Outcome {
  return fail(`${error.code}: ${error.message}`, remedyOf(error));
}
