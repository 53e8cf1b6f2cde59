/** What records weigh in a topic, as far as a limit of the broker is concerned: rather too much than too little. */
import type { OutgoingMessage } from './producer.ts';

/** Of one record: lengths, timestamp, offset; and of a batch: its header. */
const RECORD_OVERHEAD_BYTES = 40;
export const BATCH_OVERHEAD_BYTES = 128;
const HEADER_OVERHEAD_BYTES = 10;

export function recordBytes({ key, value, headers = [] }: OutgoingMessage): number {
  let bytes = RECORD_OVERHEAD_BYTES + contentBytes(key) + contentBytes(value);
  for (const [name, content] of headers) bytes += HEADER_OVERHEAD_BYTES + name.length + contentBytes(content);
  return bytes;
}

/** In their order; a single record may be larger than the limit. kafkajs makes one batch of what it sends to a partition at once. */
export function inBatches(messages: readonly OutgoingMessage[], maxBytes: number): OutgoingMessage[][] {
  const batches: OutgoingMessage[][] = [];
  let left = 0;
  for (const message of messages) {
    const bytes = recordBytes(message);
    if (batches.length === 0 || bytes > left) {
      batches.push([]);
      left = maxBytes - BATCH_OVERHEAD_BYTES;
    }
    batches.at(-1)?.push(message);
    left -= bytes;
  }
  return batches;
}

function contentBytes(content: Uint8Array | string | null): number {
  if (content === null) return 0;
  return typeof content === 'string' ? Buffer.byteLength(content) : content.byteLength;
}
