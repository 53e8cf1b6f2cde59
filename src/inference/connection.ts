/**
 * How a channel to one endpoint behaves: keepalive, reconnection, limits and credentials.
 *
 * Reconnection waits at most 2 s: grpc-js adds up to 20 % to the maximum it is given. Its default of 120 s would leave a
 * worker that started before its server alone for minutes.
 */
import { type ChannelCredentials, type ChannelOptions, credentials } from '@grpc/grpc-js';
import type { TlsMaterial } from '../config/file-types.ts';
import { bytesPerVector, type VectorContract } from '../kserve/contract.ts';
import type { ServerAddress } from './target.ts';

const KEEPALIVE_MS = 10_000;
const KEEPALIVE_TIMEOUT_MS = 5_000;
const FIRST_RECONNECT_MS = 100;
const LONGEST_RECONNECT_MS = 2_000;
const RECONNECT_JITTER = 1.2;
/** Names are looked up again after a lost connection, but not more often. The default is 30 s. */
const RESOLVE_AT_MOST_EVERY_MS = 2_000;
/** Room for what an answer holds besides its vectors: names, shapes, protobuf framing. */
const ANSWER_OVERHEAD_BYTES = 64 * 1024;
const SMALLEST_RECEIVE_LIMIT_BYTES = 4 * 1024 * 1024;

/** Receive limit for the answers of a model: its largest batch inline, and never less than gRPC's own 4 MiB. */
export function receiveLimitFor(contract: VectorContract): number {
  const largest = contract.maxBatch * bytesPerVector(contract) + ANSWER_OVERHEAD_BYTES;
  return Math.max(SMALLEST_RECEIVE_LIMIT_BYTES, largest);
}

export function channelOptions(server: ServerAddress, receiveLimitBytes: number, serverName?: string): ChannelOptions {
  return {
    'grpc.keepalive_time_ms': KEEPALIVE_MS,
    'grpc.keepalive_timeout_ms': KEEPALIVE_TIMEOUT_MS,
    // Servers cut a connection that pings without a call.
    'grpc.keepalive_permit_without_calls': 0,
    'grpc.initial_reconnect_backoff_ms': FIRST_RECONNECT_MS,
    'grpc.max_reconnect_backoff_ms': Math.floor(LONGEST_RECONNECT_MS / RECONNECT_JITTER),
    'grpc.dns_min_time_between_resolutions_ms': RESOLVE_AT_MOST_EVERY_MS,
    // Two clients of one process must not share a connection: one pool's load would then wait behind another's.
    'grpc.use_local_subchannel_pool': 1,
    'grpc.max_receive_message_length': receiveLimitBytes,
    // The server has the say about what it takes; our own limit would only hide its answer.
    'grpc.max_send_message_length': -1,
    // grpc-js would read http_proxy from the environment; a model server is never behind it.
    'grpc.enable_http_proxy': 0,
    'grpc.service_config_disable_resolution': 1,
    ...authorityOf(server, serverName),
  };
}

/** A server that is one address of a name is still called by the name, and its certificate is for that. */
function authorityOf({ knownAs }: ServerAddress, serverName: string | undefined): ChannelOptions {
  if (serverName !== undefined) {
    return { 'grpc.ssl_target_name_override': serverName, 'grpc.default_authority': serverName };
  }
  if (knownAs === undefined) return {};
  const { port } = knownAs;
  // The dot of an absolute name is no part of the name in a certificate.
  const host = knownAs.host.replace(/\.$/, '');
  return {
    'grpc.ssl_target_name_override': host,
    'grpc.default_authority': host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`,
  };
}

/**
 * Material of a checked configuration, and the name that the server's certificate must carry where it is not the host of
 * the target. Where it may change (TlsFiles), its fields are as they are now and `onChange` tells of it.
 */
export type ChannelTls = TlsMaterial & {
  readonly serverName: string | undefined;
  /** Returns how to stop listening. */
  onChange?(listener: () => void): () => void;
};

/** Plaintext without TLS. */
export function channelCredentials(tls: ChannelTls | undefined): ChannelCredentials {
  if (tls === undefined) return credentials.createInsecure();
  const { ca, cert, key } = tls;
  return credentials.createSsl(bytesOf(ca), bytesOf(key), bytesOf(cert));
}

function bytesOf(pem: string | undefined): Buffer | null {
  return pem === undefined ? null : Buffer.from(pem);
}
