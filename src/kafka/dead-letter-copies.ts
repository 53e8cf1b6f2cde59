/**
 * How many letters may still take the whole of their batch message along.
 *
 * Each bad chunk has a letter of its own that holds its message: a message of 1 MB with 10,000 bad chunks would become 10 GB.
 * So the copies of one message are counted, and further letters hold only its beginning; the first ones are enough to replay it.
 */
import { partitionKey } from '../offsets/epochs.ts';
import type { DeadLetter } from './dead-letter.ts';

const MAX_COPIED_BYTES = 8_388_608;
/** Messages whose copies are counted; of older ones it is forgotten how many there are. */
const MAX_MESSAGES = 1_024;

export class MessageCopies {
  readonly #copiedBytes = new Map<string, number>();

  /** Counts the copy in when there may be one more. */
  take({ raw, index }: DeadLetter): boolean {
    const bytes = raw.value?.byteLength ?? 0;
    const key = keyOf(raw);
    const copied = this.#copiedBytes.get(key) ?? 0;
    if (index === undefined || copied === 0 || copied + bytes <= MAX_COPIED_BYTES) {
      if (index !== undefined) this.#set(key, copied + bytes);
      return true;
    }
    return false;
  }

  /** The letter was not written after all. */
  giveBack({ raw, index }: DeadLetter): void {
    const key = keyOf(raw);
    const copied = this.#copiedBytes.get(key);
    if (index !== undefined && copied !== undefined) this.#set(key, copied - (raw.value?.byteLength ?? 0));
  }

  #set(key: string, bytes: number): void {
    this.#copiedBytes.delete(key);
    if (bytes > 0) this.#copiedBytes.set(key, bytes);
    if (this.#copiedBytes.size <= MAX_MESSAGES) return;
    for (const oldest of this.#copiedBytes.keys()) {
      this.#copiedBytes.delete(oldest);
      return;
    }
  }
}

function keyOf({ source }: DeadLetter['raw']): string {
  return `${partitionKey(source)} ${source.offset}`;
}
