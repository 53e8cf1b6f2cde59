/**
 * Keeps kafkajs 2.2.4 from handing out records of aborted transactions.
 *
 * The broker tells with each fetch which transactions were aborted: by producer and first offset, in the order in which they
 * ended. kafkajs takes that for the order in which they began, and looks at one of them for each message. Where transactions
 * of several producers overlap, as they do when several are killed, it misses some and hands their records out as committed.
 * Here the records are told apart as Kafka's own client does it, and kafkajs is given an answer that it reads right.
 */
import { createRequire } from 'node:module';

/** What we use of an answer, as it is in 2.2.4. */
export type FetchedPartition = {
  messages: readonly FetchedRecord[];
  abortedTransactions?: readonly { readonly producerId: string; readonly firstOffset: string }[] | null;
};

export type FetchedRecord = {
  readonly offset: string;
  readonly key: Uint8Array | null;
  readonly isControlRecord?: boolean;
  batchContext?: { readonly producerId?: string; readonly inTransaction?: boolean };
};

type Broker = {
  fetch(request: object): Promise<{ readonly responses?: readonly { readonly partitions: FetchedPartition[] }[] }>;
};

const GUARDED = Symbol('rag-serving: kafkajs aborted records guard');
/** No producer has this id. */
const ABORTED = 'aborted';
/** Version 0 of a control record, and its kind: the end of an aborted transaction. */
const ABORT_MARKER = Buffer.from([0, 0, 0, 0]);

/** Once a process; does nothing for a kafkajs that is laid out differently. Says whether the guard is in place. */
export function guardAbortedRecords(): boolean {
  const prototype = brokerPrototype();
  const original = prototype?.fetch;
  if (prototype === undefined || typeof original !== 'function') return false;
  if (GUARDED in original) return true;
  const guarded = async function (this: Broker, request: object) {
    const answer = await original.call(this, request);
    for (const { partitions } of answer.responses ?? []) for (const partition of partitions) markAborted(partition);
    return answer;
  };
  prototype.fetch = Object.assign(guarded, { [GUARDED]: true });
  return true;
}

/** All aborted records become those of one producer, whose one transaction was aborted from the beginning. */
export function markAborted(partition: FetchedPartition): void {
  const { messages, abortedTransactions } = partition;
  if (!abortedTransactions || abortedTransactions.length === 0) return;
  const begun = abortedTransactions
    .map(({ producerId, firstOffset }) => ({ producerId: String(producerId), firstOffset: BigInt(firstOffset) }))
    .sort((a, b) => (a.firstOffset < b.firstOffset ? -1 : a.firstOffset > b.firstOffset ? 1 : 0));
  const open = new Set<string>();
  let next = 0;
  for (const message of messages) {
    const offset = BigInt(message.offset);
    for (let one = begun[next]; one !== undefined && one.firstOffset <= offset; one = begun[++next])
      open.add(one.producerId);
    const { batchContext } = message;
    const producerId = String(batchContext?.producerId);
    if (message.isControlRecord === true) {
      if (message.key !== null && ABORT_MARKER.equals(message.key)) open.delete(producerId);
    } else if (batchContext?.inTransaction === true && open.has(producerId)) {
      message.batchContext = { ...batchContext, producerId: ABORTED };
    }
  }
  partition.abortedTransactions = [{ producerId: ABORTED, firstOffset: '0' }];
}

function brokerPrototype(): Broker | undefined {
  try {
    const broker: unknown = createRequire(import.meta.url)('kafkajs/src/broker');
    return typeof broker === 'function' ? (broker.prototype as Broker) : undefined;
  } catch {
    return undefined;
  }
}
