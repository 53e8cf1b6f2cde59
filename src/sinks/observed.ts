/** A sink that tells an observer of each call, and otherwise is the sink within. */
import type { Clock } from '../clock.ts';
import { asServingError } from '../errors.ts';
import type { SinkCall, SinkObserver } from './observer.ts';
import type { RowOutcome, Sink } from './sink.ts';

export function observed(inner: Sink, observer: SinkObserver, clock: Clock): Sink {
  const told = async <T>(
    operation: SinkCall['operation'],
    work: () => Promise<T>,
    rowsOf: (answer: T) => SinkCall['rows'] = () => undefined,
  ): Promise<T> => {
    const startedAtMs = clock.monotonicMs();
    const end = (rows: SinkCall['rows'], error: SinkCall['error']) => {
      const seconds = (clock.monotonicMs() - startedAtMs) / 1_000;
      observer.called({ sink: inner.name, operation, seconds, rows, error });
    };
    try {
      const answer = await work();
      end(rowsOf(answer), undefined);
      return answer;
    } catch (error) {
      end(undefined, asServingError(error));
      throw error;
    }
  };
  return {
    name: inner.name,
    get commits() {
      return inner.commits;
    },
    open: (contract, signal) => told('open', () => inner.open(contract, signal)),
    inspect: (signal) => told('open', () => inner.inspect(signal)),
    write: (rows, signal) => told('write', () => inner.write(rows, signal), countOutcomes),
    remove: (deletions, signal) => told('remove', () => inner.remove(deletions, signal)),
    ping: (signal) => told('ping', () => inner.ping(signal)),
    count: (signal) => inner.count(signal),
    search: (vector, limit, signal) => inner.search(vector, limit, signal),
    fetch: (chunkIds, signal) => inner.fetch(chunkIds, signal),
    ...(inner.scan && { scan: inner.scan.bind(inner) }),
    close: () => inner.close(),
  };
}

function countOutcomes(outcomes: readonly RowOutcome[]): NonNullable<SinkCall['rows']> {
  const rows = { stored: 0, superseded: 0, refused: 0 };
  for (const { kind } of outcomes) rows[kind]++;
  return rows;
}
