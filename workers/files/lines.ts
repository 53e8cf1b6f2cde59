/**
 * Lines of a byte stream, with their numbers. Only a line feed ends a line: U+2028, which Node's readline also splits at,
 * is allowed inside JSON strings. A line over the limit is told and skipped without being gathered in memory.
 */
export type Line = {
  /** From 1. */
  readonly number: number;
  /** Without its line feed; undefined when the line is longer than the limit. */
  readonly bytes: Uint8Array | undefined;
};

export const MAX_LINE_BYTES = 16_777_216;
const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;

/** Blank lines are left out but counted. */
export async function* linesOf(stream: AsyncIterable<Uint8Array>, maxLineBytes = MAX_LINE_BYTES): AsyncGenerator<Line> {
  let number = 1;
  let gathered: Uint8Array[] = [];
  let size = 0;
  const take = (): Line | undefined => {
    const bytes = size > maxLineBytes ? undefined : trimmed(Buffer.concat(gathered, size), number === 1);
    gathered = [];
    size = 0;
    return bytes !== undefined && isBlank(bytes) ? undefined : { number, bytes };
  };
  for await (const block of stream) {
    let from = 0;
    for (let to = block.indexOf(LINE_FEED); to !== -1; to = block.indexOf(LINE_FEED, from)) {
      gather(block.subarray(from, to));
      const line = take();
      if (line !== undefined) yield line;
      number++;
      from = to + 1;
    }
    gather(block.subarray(from));
  }
  const last = size === 0 ? undefined : take();
  if (last !== undefined) yield last;

  function gather(part: Uint8Array): void {
    size += part.byteLength;
    if (size > maxLineBytes) gathered = [];
    else gathered.push(part);
  }
}

/** Without a carriage return at the end, and a byte order mark at the beginning of the file. */
function trimmed(bytes: Uint8Array, first: boolean): Uint8Array {
  const start = first && bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? 3 : 0;
  const end = bytes.at(-1) === CARRIAGE_RETURN ? bytes.byteLength - 1 : bytes.byteLength;
  return bytes.subarray(start, end);
}

function isBlank(bytes: Uint8Array): boolean {
  return bytes.every((byte) => byte === 0x20 || byte === 0x09 || byte === CARRIAGE_RETURN);
}
