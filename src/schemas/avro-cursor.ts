/**
 * Reads Avro's primitives out of one body and never beyond it.
 *
 * A count of items is the sender's claim: twelve bytes can announce four billion nulls, which take no bytes at all. So the
 * items of one body are counted against its length.
 */
import { isUtf8 } from 'node:buffer';
import { undecodable } from './faults.ts';

/** Items without bytes (null, an empty record) that a body may hold beyond one a byte. */
const FREE_ITEMS = 1_024;
const EXACT_BYTES = 7;
const MAX_LONG_BYTES = 10;

export class AvroCursor {
  readonly #bytes: Buffer;
  #at = 0;
  #itemsLeft: number;

  constructor(body: Uint8Array) {
    this.#bytes = Buffer.from(body.buffer, body.byteOffset, body.byteLength);
    this.#itemsLeft = body.byteLength + FREE_ITEMS;
  }

  get left(): number {
    return this.#bytes.byteLength - this.#at;
  }

  byte(): number {
    const byte = this.#bytes[this.#at];
    if (byte === undefined) throw early();
    this.#at += 1;
    return byte;
  }

  /** Zigzag, as a string of digits where a number would be rounded. */
  long(): number | string {
    const start = this.#at;
    let sum = 0;
    let factor = 1;
    for (let count = 0; count < EXACT_BYTES; count++) {
      const byte = this.byte();
      sum += (byte & 0x7f) * factor;
      factor *= 128;
      if (byte < 0x80) return sum % 2 === 0 ? sum / 2 : -(sum + 1) / 2;
    }
    this.#at = start;
    return this.#wideLong();
  }

  /** A count, a length or an index. */
  count(): number {
    const value = this.long();
    if (typeof value === 'string') throw undecodable('announces more than it can hold');
    return value;
  }

  bytes(length: number): Buffer {
    if (length < 0 || length > this.left) throw early();
    const bytes = this.#bytes.subarray(this.#at, this.#at + length);
    this.#at += length;
    return bytes;
  }

  text(): string {
    const bytes = this.bytes(this.count());
    if (!isUtf8(bytes)) throw undecodable(`a string of ${bytes.byteLength} bytes is not valid UTF-8`);
    return bytes.toString('utf8');
  }

  float(): number | null {
    return finite(this.bytes(4).readFloatLE());
  }

  double(): number | null {
    return finite(this.bytes(8).readDoubleLE());
  }

  /** The items of the next block of an array or map; 0 ends it. */
  block(): number {
    let count = this.count();
    if (count < 0) {
      count = -count;
      this.count(); // its bytes, for those who skip
    }
    this.#itemsLeft -= count;
    if (this.#itemsLeft < 0) throw undecodable('announces more items than it can hold');
    return count;
  }

  #wideLong(): number | string {
    let sum = 0n;
    for (let count = 0; count < MAX_LONG_BYTES; count++) {
      const byte = this.byte();
      sum |= BigInt(byte & 0x7f) << BigInt(7 * count);
      if (byte >= 0x80) continue;
      const value = BigInt.asIntN(64, (sum >> 1n) ^ -(sum & 1n));
      const number = Number(value);
      return Number.isSafeInteger(number) ? number : String(value);
    }
    throw undecodable('holds an integer of more than 64 bits');
  }
}

/** JSON has no other numbers. */
function finite(value: number): number | null {
  return Number.isFinite(value) ? value : null;
}

function early() {
  return undecodable('ends in the middle');
}
