/**
 * Writes protobuf fields into memory of its own, which is used again for the next message: a query's message costs a tenth
 * of what a general encoder takes, and that is most of what a client does for it.
 *
 * Field kinds as in the protobuf encoding: 0 varint, 2 length-delimited.
 */
const FIRST_BYTES = 4_096;
/** Of a varint below 2^53. */
const LONGEST_VARINT = 8;

export class WireWriter {
  #bytes = Buffer.allocUnsafeSlow(FIRST_BYTES);
  #at = 0;

  get length(): number {
    return this.#at;
  }

  /** Forgets what was written. */
  restart(): void {
    this.#at = 0;
  }

  /** A copy into `target`; gives back where it ends. */
  copyTo(target: Buffer, offset: number): number {
    return offset + this.#bytes.copy(target, offset, 0, this.#at);
  }

  /** @param value whole, ≥ 0, below 2^53 */
  varintField(field: number, value: number): void {
    this.#room(2 * LONGEST_VARINT);
    this.#tag(field, 0);
    this.#varint(value);
  }

  /** Written also when empty: inside a oneof that is not the same as none. */
  stringField(field: number, text: string): void {
    const start = this.open(field);
    this.#room(text.length * 3);
    this.#at += this.#bytes.write(text, this.#at, 'utf8');
    this.close(start);
  }

  /** Packed varints. */
  packedField(field: number, values: readonly number[]): void {
    if (values.length === 0) return;
    const start = this.open(field);
    this.#room(values.length * LONGEST_VARINT);
    for (const value of values) this.#varint(value);
    this.close(start);
  }

  /** Tag and length of bytes that follow elsewhere. */
  bytesHead(field: number, length: number): void {
    this.#room(2 * LONGEST_VARINT);
    this.#tag(field, 2);
    this.#varint(length);
  }

  /** Begins a message inside the message; what is given back ends it. */
  open(field: number): number {
    this.#room(2 * LONGEST_VARINT);
    this.#tag(field, 2);
    // Nearly every length fits one byte; what is longer is moved along.
    return ++this.#at;
  }

  close(start: number): void {
    const length = this.#at - start;
    if (length < 0x80) {
      this.#bytes[start - 1] = length;
      return;
    }
    const more = varintLength(length) - 1;
    this.#room(more);
    this.#bytes.copyWithin(start + more, start, start + length);
    this.#at = start - 1;
    this.#varint(length);
    this.#at += length;
  }

  #tag(field: number, kind: 0 | 2): void {
    this.#varint(field * 8 + kind);
  }

  #varint(value: number): void {
    let rest = value;
    // Bit operations would cut the value to 32 bits.
    while (rest >= 0x80) {
      this.#bytes[this.#at++] = (rest % 0x80) + 0x80;
      rest = Math.floor(rest / 0x80);
    }
    this.#bytes[this.#at++] = rest;
  }

  #room(bytes: number): void {
    if (this.#at + bytes <= this.#bytes.length) return;
    const larger = Buffer.allocUnsafeSlow(2 * (this.#at + bytes));
    this.#bytes.copy(larger, 0, 0, this.#at);
    this.#bytes = larger;
  }
}

export function varintLength(value: number): number {
  let length = 1;
  for (let rest = value; rest >= 0x80; rest = Math.floor(rest / 0x80)) length++;
  return length;
}
