/** Work on many things, a few at a time. The first failure stops the rest, and is thrown when nothing runs any more. */

export type Work<T> = (item: T, signal: AbortSignal) => Promise<void>;

export async function inParallel<T>(
  items: Iterable<T> | AsyncIterable<T>,
  atOnce: number,
  work: Work<T>,
  signal: AbortSignal,
): Promise<void> {
  const stop = new AbortController();
  const both = AbortSignal.any([signal, stop.signal]);
  const queue = (Symbol.asyncIterator in items ? items : asAsync(items))[Symbol.asyncIterator]();
  let failure: { readonly error: unknown } | undefined;
  const lane = async () => {
    try {
      for (;;) {
        both.throwIfAborted();
        const next = await queue.next();
        if (next.done === true) return;
        await work(next.value, both);
      }
    } catch (error) {
      failure ??= { error };
      stop.abort(error);
    }
  };
  await Promise.all(Array.from({ length: atOnce }, lane));
  if (failure !== undefined) throw failure.error;
}

async function* asAsync<T>(items: Iterable<T>): AsyncGenerator<T> {
  yield* items;
}
