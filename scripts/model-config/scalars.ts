/** One value of the text format as the schema wants it: a number in its range, a boolean, a string, a name of an enum. */
import { type DescEnum, ScalarType } from '@bufbuild/protobuf';
import type { Token } from './text-tokens.ts';

export type Wanted = { readonly scalar?: ScalarType | undefined; readonly enum?: DescEnum | undefined };
type Report = (line: number, message: string) => void;

const RANGES: Partial<Record<ScalarType, readonly [min: bigint, max: bigint]>> = {
  [ScalarType.INT32]: [-(2n ** 31n), 2n ** 31n - 1n],
  [ScalarType.UINT32]: [0n, 2n ** 32n - 1n],
  [ScalarType.INT64]: [-(2n ** 63n), 2n ** 63n - 1n],
  [ScalarType.UINT64]: [0n, 2n ** 64n - 1n],
};
const WIDE: readonly ScalarType[] = [ScalarType.INT64, ScalarType.UINT64];
const BOOLEANS: Readonly<Record<string, boolean>> = {
  ...{ true: true, True: true, t: true, 1: true },
  ...{ false: false, False: false, f: false, 0: false },
};

/** undefined when the value is not of the type; the reason has been reported. */
export function readScalar(wanted: Wanted, tokens: readonly Token[], report: Report): unknown {
  const { line, kind } = tokens[0]!;
  const text = tokens.map((token) => token.text).join('');
  const said = kind === 'string' ? 'a string' : text;
  const refuse = (what: string) => void report(line, `${said} where ${what} should be`);
  if (wanted.enum !== undefined) {
    const found = wanted.enum.values.find(({ name, number }) => text === name || text === String(number));
    if (kind !== 'string' && found !== undefined) return found.number;
    return refuse(`one of ${wanted.enum.values.map(({ name }) => name).join(', ')}`);
  }
  switch (wanted.scalar) {
    case ScalarType.STRING:
      return kind === 'string' ? text : refuse('a string');
    case ScalarType.BOOL:
      return (kind === 'string' ? undefined : BOOLEANS[text]) ?? refuse('true or false');
    case ScalarType.FLOAT:
    case ScalarType.DOUBLE: {
      const value = Number(text.replace(/[fF]$/, ''));
      return kind === 'string' || Number.isNaN(value) ? refuse('a number') : value;
    }
    default: {
      const [min, max] = RANGES[wanted.scalar!]!;
      const value = kind === 'string' ? undefined : integer(text);
      if (value === undefined || value < min || value > max) return refuse(`an integer from ${min} to ${max}`);
      return WIDE.includes(wanted.scalar!) ? value : Number(value);
    }
  }
}

function integer(text: string): bigint | undefined {
  const match = /^(-?)(?:0[xX]([\da-fA-F]+)|(0[0-7]*)|([1-9]\d*))$/.exec(text);
  if (match === null) return undefined;
  const [, sign, hex, octal, decimal] = match;
  const size =
    hex !== undefined
      ? BigInt(`0x${hex}`)
      : octal !== undefined
        ? BigInt(`0o${octal.slice(1) || '0'}`)
        : BigInt(decimal!);
  return sign === '-' ? -size : size;
}
