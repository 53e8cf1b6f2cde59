/** Avro's logical type `decimal` as a string of digits: a number would be rounded. */
import avro from 'avsc';

/** Digits of a two's-complement integer with `scale` of them behind the point. */
export function decimalText(bytes: Uint8Array, scale: number): string {
  const hex = Buffer.from(bytes).toString('hex');
  const unscaled = hex === '' ? 0n : BigInt.asIntN(bytes.byteLength * 8, BigInt(`0x${hex}`));
  const digits = String(unscaled < 0n ? -unscaled : unscaled).padStart(scale + 1, '0');
  const point = digits.length - scale;
  const text = scale === 0 ? digits : `${digits.slice(0, point)}.${digits.slice(point)}`;
  return unscaled < 0n ? `-${text}` : text;
}

export class DecimalType extends avro.types.LogicalType {
  readonly scale: number;

  constructor(schema: avro.Schema, options?: object) {
    super(schema, options);
    const { scale } = schema as { scale?: unknown };
    this.scale = typeof scale === 'number' && Number.isInteger(scale) && scale >= 0 ? scale : 0;
  }

  protected override _fromValue(value: unknown): unknown {
    return decimalText(value as Uint8Array, this.scale);
  }

  /** Undefined tells avsc that the value does not fit. */
  protected override _toValue(value: unknown): unknown {
    const found = /^(-?)(\d+)(?:\.(\d+))?$/.exec(String(value));
    if (found === null || (found[3] ?? '').length > this.scale) return undefined;
    const unscaled = BigInt(`${found[2]}${(found[3] ?? '').padEnd(this.scale, '0')}`);
    return twosComplement(found[1] === '-' ? -unscaled : unscaled);
  }
}

function twosComplement(value: bigint): Buffer {
  let length = 1;
  while (BigInt.asIntN(length * 8, value) !== value) length += 1;
  return Buffer.from(
    BigInt.asUintN(length * 8, value)
      .toString(16)
      .padStart(length * 2, '0'),
    'hex',
  );
}
