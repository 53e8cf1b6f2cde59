/**
 * Unpacks zstd as it is read. Node 20 brings no zstd of its own.
 *
 * Surprising: the library tells of a file that was cut only when it is told that this is the end.
 */
import { Decompress } from 'fzstd';

export async function* unzstd(packed: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let out: Uint8Array[] = [];
  let isEmpty = true;
  const stream = new Decompress((block) => {
    if (block.byteLength > 0) out.push(block);
  });
  const push = (block: Uint8Array, last: boolean): Uint8Array[] => {
    out = [];
    try {
      stream.push(block, last);
    } catch (error) {
      const reason = error instanceof Error ? error.message : 'damaged';
      // Blocks that came before the fault are not handed on: where in a block it lies is not known.
      throw new Error(
        reason === 'unexpected EOF'
          ? 'the zstd data end in the middle: the file is cut'
          : `not valid zstd data (${reason})`,
      );
    }
    return out;
  };
  for await (const block of packed) {
    isEmpty = false;
    yield* push(block, false);
  }
  if (!isEmpty) yield* push(new Uint8Array(0), true);
}
