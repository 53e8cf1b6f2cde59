/**
 * Waits for a live model until it really answers. A server that is ready says nothing of its models, and an ensemble that is
 * ready nothing of a step inside it that is not: only an inference shows it.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { asServingError, ServingError } from '../errors.ts';
import type { InferenceClient } from '../inference/client.ts';
import { type Asking, askingOf, type Questions } from './asking.ts';
import { abortedBy } from './interview.ts';

export type ReadyOptions = {
  readonly client: Pick<InferenceClient, 'target' | 'modelReady' | 'describeModel' | 'infer'>;
  readonly model: string;
  readonly questions: Questions;
  /** 0: asked once. */
  readonly waitMs: number;
  readonly callTimeoutMs: number;
  readonly nowMs: () => number;
  /** Told each time another reason keeps it waiting. */
  readonly onWaiting: (reason: string) => void;
};

const ASK_EVERY_MS = 500;
const QUESTION_TIMEOUT_MS = 4_000;

export type ReadyModel = { readonly asking: Asking; readonly versions: readonly string[] };

/** Throws MODEL_NOT_READY when it waited in vain, MODEL_CONTRACT_MISMATCH, or what no waiting helps against. */
export async function untilModelAnswers(options: ReadyOptions, signal: AbortSignal): Promise<ReadyModel> {
  const { client, model, waitMs, nowMs, onWaiting } = options;
  const untilMs = nowMs() + waitMs;
  let told = '';
  for (;;) {
    const found = await look(options, signal);
    if (signal.aborted) throw abortedBy(signal);
    if (!(found instanceof ServingError)) return found;
    if (found.failureClass === 'fatal') throw found;
    if (nowMs() + ASK_EVERY_MS > untilMs) {
      const within = waitMs === 0 ? '' : ` within ${waitMs / 1_000} s`;
      throw new ServingError(
        'MODEL_NOT_READY',
        `${model} at ${client.target} did not answer${within}: ${found.message}`,
        {
          cause: found,
        },
      );
    }
    if (found.message !== told) onWaiting(found.message);
    told = found.message;
    await sleep(ASK_EVERY_MS, undefined, { signal }).catch(() => {});
  }
}

async function look(options: ReadyOptions, signal: AbortSignal): Promise<ReadyModel | ServingError> {
  const { client, model, questions, callTimeoutMs } = options;
  const question = { timeoutMs: QUESTION_TIMEOUT_MS, signal };
  try {
    if (!(await client.modelReady(model, question))) {
      return new ServingError('MODEL_NOT_READY', `the server has no model ${model} that is ready`);
    }
    const description = await client.describeModel(model, question);
    const asking = askingOf(questions, description);
    // It also pays for what the first inference of a model costs more than the others.
    await client.infer(asking.request([0]), { timeoutMs: callTimeoutMs, signal }).catch((thrown: unknown) => {
      const error = asServingError(thrown);
      // Those of the row itself are found, and told by its label, when all rows are asked.
      const isOfTheRow = error.failureClass === 'chunk' || error.code === 'INFERENCE_FAILED';
      if (!isOfTheRow && error.code !== 'INFERENCE_RESPONSE_INVALID') throw error;
    });
    return { asking, versions: description.versions };
  } catch (thrown) {
    return asServingError(thrown);
  }
}
