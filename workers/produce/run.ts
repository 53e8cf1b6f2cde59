/** `produce` from paths to a summary. Kafka comes in as a `Write`, so that a dry run is the same run without one. */
import { asServingError, isServingError, ServingError } from '../../src/errors.ts';
import type { Input } from '../files/inputs.ts';
import type { Outgoing } from '../files/message.ts';
import type { Progress } from '../tool/progress.ts';
import type { Encode } from './encoder.ts';
import { readInput } from './read.ts';
import { Sender, type Write } from './sender.ts';

export type ProduceJob = {
  readonly inputs: readonly Input[];
  readonly targetTokens: number;
  /** Most chunks to send. */
  readonly limit: number;
  readonly write: Write;
  /** Undefined: messages are sent as they are. */
  readonly encode?: Encode | undefined;
  readonly progress: Progress;
  readonly now: () => number;
};

export type ProduceResult = {
  readonly inputs: number;
  readonly documents: number;
  /** Acknowledged by all in-sync replicas; in a dry run, prepared. */
  readonly messages: number;
  readonly chunks: number;
  readonly bytes: number;
  /** Lines, documents or chunks that were not sent. */
  readonly bad: number;
  readonly interrupted: boolean;
  readonly seconds: number;
  readonly chunksPerSecond: number;
  /** Why it stopped early. */
  readonly failure: ServingError | undefined;
};

const MAX_BATCH_MESSAGES = 256;
/** Half of what a broker takes by default, for a batch may end up in one partition. */
const MAX_BATCH_BYTES = 524_288;
const MAX_BATCHES_IN_FLIGHT = 4;
const BAD_SHOWN = 20;

/** Never throws for what is wrong with the input or the broker: that is in the result. Stops reading when the signal aborts. */
export async function produce(job: ProduceJob, signal: AbortSignal): Promise<ProduceResult> {
  const startedAt = job.now();
  const documents = new Set<string>();
  const sent = { messages: 0, chunks: 0, bytes: 0 };
  let bad = 0;
  let accepted = 0;
  let readBefore = 0;
  let read = 0;
  const refuse = (origin: string, problem: string): void => {
    bad++;
    if (bad <= BAD_SHOWN) job.progress.line(`bad: ${origin}: ${problem}`);
    else if (bad === BAD_SHOWN + 1) job.progress.line('bad: more follow and are only counted');
  };
  const sender = new Sender({
    write: job.write,
    maxBatchMessages: MAX_BATCH_MESSAGES,
    maxBatchBytes: MAX_BATCH_BYTES,
    maxBatchesInFlight: MAX_BATCHES_IN_FLIGHT,
    onAcknowledged: (messages: readonly Outgoing[]) => {
      for (const { chunks, value, key } of messages) {
        sent.messages++;
        sent.chunks += chunks;
        sent.bytes += value.byteLength;
        documents.add(key);
      }
      job.progress.update(read, sent.chunks);
    },
    onRefused: ({ origin }, error) => refuse(origin, error.message),
  });

  let failure: ServingError | undefined;
  try {
    inputs: for (const input of job.inputs) {
      for await (const { prepared, readBytes } of readInput(input, job.targetTokens)) {
        if (signal.aborted || accepted >= job.limit) break inputs;
        read = readBefore + readBytes;
        if (!prepared.ok) refuse(prepared.origin, prepared.problem);
        else {
          const message = encoded(prepared.message, job.encode);
          if (message instanceof ServingError) refuse(prepared.message.origin, message.message);
          else {
            accepted += message.chunks;
            await sender.add(message);
          }
        }
        job.progress.update(read, sent.chunks);
      }
      readBefore += input.bytes;
    }
    await sender.finish();
  } catch (error) {
    // Batches that are under way may still be acknowledged; the count must tell them.
    await sender.finish().catch(() => undefined);
    failure = asServingError(error);
  }
  job.progress.update(read, sent.chunks);
  const seconds = (job.now() - startedAt) / 1_000;
  return {
    inputs: job.inputs.length,
    documents: documents.size,
    ...sent,
    bad,
    interrupted: signal.aborted,
    seconds: Math.round(seconds * 1_000) / 1_000,
    chunksPerSecond: seconds > 0 ? Math.round(sent.chunks / seconds) : 0,
    failure,
  };
}

/** The error when this one message does not fit the schema. */
function encoded(message: Outgoing, encode: Encode | undefined): Outgoing | ServingError {
  try {
    return encode === undefined ? message : encode(message);
  } catch (error) {
    if (isServingError(error, 'VALUE_UNDECODABLE')) return error;
    throw error;
  }
}
