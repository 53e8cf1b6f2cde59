/** Raw messages for decoder tests, and a settle that remembers. */
import type { RawMessage } from '../../../src/records/chunk.ts';
import type { Outcome } from '../../../src/records/outcome.ts';

export type RawParts = {
  readonly key?: string | Uint8Array | null;
  /** Text is taken as it is; anything else is serialized. */
  readonly value: unknown;
  readonly headers?: RawMessage['headers'];
};

export function raw({ key = 'doc-1', value, headers = [] }: RawParts): RawMessage {
  return {
    source: { topic: 't', partition: 2, offset: 40n },
    key: typeof key === 'string' ? Buffer.from(key) : key,
    value:
      value === null || value instanceof Uint8Array
        ? value
        : Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)),
    headers,
    timestampMs: 1,
  };
}

export function settleLog(): { readonly outcomes: Outcome[]; readonly settle: (outcome: Outcome) => void } {
  const outcomes: Outcome[] = [];
  return { outcomes, settle: (outcome) => outcomes.push(outcome) };
}
