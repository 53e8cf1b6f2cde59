import { describe, expect, it } from 'vitest';
import type { RawMessage, SourcePosition } from '../../../src/records/chunk.ts';
import { Payloads } from '../../../src/retry/payloads.ts';
import { silentLog } from '../../../src/telemetry/log.ts';

const source: SourcePosition = { topic: 't', partition: 0, offset: 7n };
const raw: RawMessage = { source, key: null, value: Buffer.from('v'), headers: [], timestampMs: 1_000 };
const origin = { source, timestampMs: 1_000, index: undefined, attempts: 1, raw: undefined };
const { signal } = new AbortController();

function payloadsOf(found: RawMessage | undefined) {
  const seen = { reads: 0, gone: 0 };
  const read = async () => {
    seen.reads++;
    return found;
  };
  return { seen, payloads: new Payloads({ read, onGone: () => void seen.gone++, log: silentLog }) };
}

describe('where a due job gets its message from', () => {
  it('from the job, without asking Kafka', async () => {
    const { seen, payloads } = payloadsOf(undefined);
    expect(await payloads.messageOf({ ...origin, raw }, signal)).toBe(raw);
    expect(seen).toEqual({ reads: 0, gone: 0 });
  });

  it('from Kafka where only the origin was kept', async () => {
    const { seen, payloads } = payloadsOf(raw);
    expect(await payloads.messageOf(origin, signal)).toBe(raw);
    expect(seen).toEqual({ reads: 1, gone: 0 });
  });

  it('one that Kafka no longer has is reported as gone', async () => {
    const { seen, payloads } = payloadsOf(undefined);
    expect(await payloads.messageOf(origin, signal)).toBeUndefined();
    expect(seen.gone).toBe(1);
  });

  it('another message at the same offset, of a topic made anew, is not taken for it', async () => {
    const { seen, payloads } = payloadsOf({ ...raw, timestampMs: 2_000 });
    expect(await payloads.messageOf(origin, signal)).toBeUndefined();
    expect(seen.gone).toBe(1);
  });
});
