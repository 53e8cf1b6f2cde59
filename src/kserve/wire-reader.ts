/**
 * Reads protobuf fields one after another. Nearly all fields of an answer are length-delimited, so a field is taken as one:
 * `lengthField` gives its number, and then one of `text`, `bytes`, `packed`, `end` its contents. Of a field of another kind
 * it gives 0, and `skip` passes over it.
 */
const VARINT = 0;
const FIXED64 = 1;
const LENGTH = 2;
const GROUP_START = 3;
const GROUP_END = 4;
const FIXED32 = 5;
const TWO_POW_63 = 2 ** 63;

export class WireReader {
  readonly #bytes: Buffer;
  #at = 0;
  #tag = 0;
  #length = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  /** Number of the next field, 0 unless it is length-delimited. Throws RangeError where the bytes end before it does. */
  lengthField(): number {
    this.#tag = this.#varint();
    if ((this.#tag & 7) !== LENGTH) return 0;
    this.#length = this.#varint();
    if (this.#at + this.#length > this.#bytes.length) throw cutShort();
    return this.#tag >>> 3;
  }

  /** Whether the field that `lengthField` gave 0 for is this one. */
  isVarintField(field: number): boolean {
    return this.#tag === field * 8 + VARINT;
  }

  /** Where the contents end; they are read next, as fields. */
  end(): number {
    return this.#at + this.#length;
  }

  /** Whether fields are left before `end`. Throws RangeError where the last one went beyond it. */
  isBefore(end: number): boolean {
    if (this.#at > end) throw new RangeError('a field goes beyond the message that it is in');
    return this.#at < end;
  }

  text(): string {
    const from = this.#at;
    this.#at += this.#length;
    return this.#bytes.toString('utf8', from, this.#at);
  }

  /** A view. */
  bytes(): Uint8Array {
    const { buffer, byteOffset } = this.#bytes;
    const view = new Uint8Array(buffer, byteOffset + this.#at, this.#length);
    this.#at += this.#length;
    return view;
  }

  /** Packed int64. */
  packed(): number[] {
    const end = this.end();
    const values: number[] = [];
    while (this.#at < end) values.push(this.int64());
    return values;
  }

  /** Exact for what a double holds. */
  int64(): number {
    const from = this.#at;
    const value = this.#varint();
    return value < TWO_POW_63 ? value : this.#negative(from);
  }

  /** Passes over the field that was just begun. */
  skip(): void {
    const kind = this.#tag & 7;
    if (kind === LENGTH) this.#at += this.#length;
    else if (kind === VARINT) this.#varint();
    else if (kind === FIXED64) this.#at += 8;
    else if (kind === FIXED32) this.#at += 4;
    else if (kind === GROUP_START) this.#skipGroup(this.#tag >>> 3);
    else throw new RangeError(`no wire type ${kind} here`);
    if (this.#at > this.#bytes.length) throw cutShort();
  }

  #skipGroup(field: number): void {
    const endTag = field * 8 + GROUP_END;
    for (this.lengthField(); this.#tag !== endTag; this.lengthField()) this.skip();
  }

  #varint(): number {
    let value = 0;
    // Bit operations would cut it to 32 bits.
    for (let scale = 1; scale <= TWO_POW_63; scale *= 0x80) {
      const byte = this.#bytes[this.#at++];
      if (byte === undefined) throw cutShort();
      if (byte < 0x80) return value + byte * scale;
      value += (byte - 0x80) * scale;
    }
    throw new RangeError('a varint has more than ten bytes');
  }

  /** A negative number has ten bytes, and its low ones would be lost in a double. */
  #negative(from: number): number {
    let value = 0n;
    for (let at = from; at < this.#at; at++) value |= BigInt(this.#bytes[at]! & 0x7f) << BigInt(7 * (at - from));
    return Number(BigInt.asIntN(64, value));
  }
}

function cutShort(): RangeError {
  return new RangeError('the bytes end inside a field');
}
