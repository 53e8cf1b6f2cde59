/**
 * AWS instance metadata, version 2 only: a token first, sent with every question. A token is renewed at half its life, and
 * at once when the server does not know it any more (a machine that was hibernated and resumed).
 */
import type { Clock } from '../clock.ts';
import { readAwsInstanceAction, readAwsRebalance } from '../lifecycle/spot-aws.ts';
import { nothing, type SpotReading } from '../lifecycle/spot-notice.ts';
import type { Lookout } from './lookout.ts';
import { askMetadata, type MetadataAnswer, unexpectedStatus } from './metadata-request.ts';

const TOKEN_SECONDS = 21_600;
const TIMEOUT_MS = 2_000;
const HOP_HINT = '; in a container, IMDSv2 needs a hop limit of 2';

export function awsLookouts(base: URL, clock: Clock): readonly Lookout[] {
  const tokens = new Tokens(base, clock);
  const at = (path: string, read: (answer: MetadataAnswer) => SpotReading): Lookout => ({
    name: path,
    look: async (signal) => {
      const answer = await askWithToken(new URL(`latest/meta-data/${path}`, base), tokens, signal);
      return [answer === undefined ? nothing : read(answer)];
    },
  });
  return [
    at('spot/instance-action', ({ body, serverNowMs }) => readAwsInstanceAction(body, serverNowMs ?? clock.wallMs())),
    at('events/recommendations/rebalance', ({ body }) => readAwsRebalance(body)),
  ];
}

/** Undefined for 404: nothing to say. */
async function askWithToken(url: URL, tokens: Tokens, signal: AbortSignal): Promise<MetadataAnswer | undefined> {
  for (let attempt = 1; ; attempt++) {
    const token = await tokens.get(signal);
    const headers = { 'X-aws-ec2-metadata-token': token };
    const answer = await askMetadata(url, { headers, timeoutMs: TIMEOUT_MS }, signal);
    if (answer.status === 200) return answer;
    if (answer.status === 404) return undefined;
    if (answer.status === 401) tokens.forget(token);
    if (answer.status !== 401 || attempt > 1) throw unexpectedStatus(url, answer.status);
  }
}

class Tokens {
  readonly #url: URL;
  readonly #clock: Clock;
  #token: string | undefined;
  #renewAtMs = 0;
  #pending: Promise<string> | undefined;

  constructor(base: URL, clock: Clock) {
    this.#url = new URL('latest/api/token', base);
    this.#clock = clock;
  }

  /** One question for all who wait. */
  async get(signal: AbortSignal): Promise<string> {
    if (this.#token !== undefined && this.#clock.monotonicMs() < this.#renewAtMs) return this.#token;
    this.#pending ??= this.#ask(signal).finally(() => (this.#pending = undefined));
    return this.#pending;
  }

  forget(token: string): void {
    if (this.#token === token) this.#token = undefined;
  }

  async #ask(signal: AbortSignal): Promise<string> {
    const headers = { 'X-aws-ec2-metadata-token-ttl-seconds': String(TOKEN_SECONDS) };
    const answer = await askMetadata(this.#url, { method: 'PUT', headers, timeoutMs: TIMEOUT_MS }, signal);
    const token = answer.body.trim();
    if (answer.status !== 200 || token === '') throw unexpectedStatus(this.#url, answer.status, HOP_HINT);
    const granted = Number(answer.headers['x-aws-ec2-metadata-token-ttl-seconds'] ?? TOKEN_SECONDS);
    const seconds = Number.isFinite(granted) && granted > 0 ? granted : TOKEN_SECONDS;
    this.#token = token;
    this.#renewAtMs = this.#clock.monotonicMs() + (seconds * 1_000) / 2;
    return token;
  }
}
