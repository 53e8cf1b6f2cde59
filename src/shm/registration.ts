/**
 * Our region as the server knows it: probe, register, register again after a restart, unregister at the end.
 *
 * Whether batches travel in shared memory is the server's answer to the first registration: there is no other probe.
 * A server that refuses, or cannot open the file, gets its batches inline; a server that is away is an error, because
 * its answer is not known.
 *
 * The surprising fact: a region that a running request uses cannot be unregistered. Servers either say so or answer at
 * once and do it later; both refuse to register its file anew for a while, under any name. When they accept at last, no
 * running request uses the region any more, not even one whose client has long gone.
 *
 * Each registration has a name of its own. A request may also be late in coming: held by a network that heals, or read by a
 * server that was frozen only after our next registration. It then names a registration that is gone, and is refused, where
 * under one and the same name it would write into the slot of whoever has it now.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { type Clock, systemClock } from '../clock.ts';
import { asServingError, isServingError, ServingError } from '../errors.ts';
import type { CallOptions, InferenceClient, SharedMemoryRegion } from '../inference/client.ts';
import { registrationName } from './region-name.ts';

/** `in-use`: for now, while a request that we gave up on does not end. */
export type InlineReason = 'disabled' | 'unsupported' | 'not-shared' | 'refused' | 'in-use';

export type Refusal = { readonly reason: InlineReason; readonly error?: ServingError };

export type TransferMode = { readonly mode: 'shared-memory' } | ({ readonly mode: 'inline' } & Refusal);

export type RegistrationOptions = {
  readonly client: InferenceClient;
  readonly region: SharedMemoryRegion;
  /** For each call. */
  readonly timeoutMs: number;
  /** How long a region that is still in use may refuse to be registered again. */
  readonly inUseWaitMs?: number;
  /** After each RE-registration: nothing that ran before it can write into the region any more. */
  readonly onReregistered?: () => void;
  readonly clock?: Clock;
};

const DEFAULT_IN_USE_WAIT_MS = 10_000;
const FIRST_RETRY_MS = 20;
const LONGEST_RETRY_MS = 500;
const CLOSE_WAIT_MS = 2_000;
const CLOSE_PAUSE_MS = 100;

export class Registration {
  readonly #options: RegistrationOptions;
  readonly #clock: Clock;
  readonly #closing = new AbortController();
  #epoch = 0;
  #name: string;
  #turn = 0;
  /** Names that the server may know: a registration that we heard nothing of may have been heard there. */
  readonly #given = new Set<string>();
  #flight: Promise<TransferMode> | undefined;
  #closed: Promise<ServingError | undefined> | undefined;

  constructor(options: RegistrationOptions) {
    if (options.region.name === '')
      throw new ServingError('SHM_INVALID', 'a region needs a name: the empty one means all');
    this.#options = options;
    this.#name = options.region.name;
    this.#clock = options.clock ?? systemClock;
  }

  /** How often the region has been registered. Read it before a call that uses the region. */
  get epoch(): number {
    return this.#epoch;
  }

  /** What a call has to name. Changes with each registration. */
  get regionName(): string {
    return this.#name;
  }

  /**
   * Registers unless that has happened since `seenEpoch`: 0 at start, or the epoch read before the call that failed with
   * SHM_REGION_UNKNOWN. Calls that come while one is running share it. A real failure rejects, and the next call
   * tries again; `inline` says that the server will not have the region.
   */
  async ensureRegistered(seenEpoch: number, signal?: AbortSignal): Promise<TransferMode> {
    if (this.#closed !== undefined) throw closedError();
    if (this.#flight === undefined && this.#epoch > seenEpoch) return { mode: 'shared-memory' };
    this.#flight ??= this.#fly();
    return await untilAborted(this.#flight, signal);
  }

  /** Unregisters exactly our names; the error, if any, is returned: the end of a process goes on. Ends soon after an abort. */
  close(signal?: AbortSignal): Promise<ServingError | undefined> {
    this.#closed ??= this.#unregister(signal);
    return this.#closed;
  }

  async #fly(): Promise<TransferMode> {
    try {
      await this.#register();
    } catch (cause) {
      const error = asServingError(cause);
      const reason = inlineReason(error);
      if (reason === undefined) throw error;
      return { mode: 'inline', reason, error };
    } finally {
      this.#flight = undefined;
    }
    this.#epoch++;
    if (this.#epoch > 1) this.#options.onReregistered?.();
    return { mode: 'shared-memory' };
  }

  async #register(): Promise<void> {
    const { client, region } = this.#options;
    const giveUpAtMs = this.#clock.monotonicMs() + (this.#options.inUseWaitMs ?? DEFAULT_IN_USE_WAIT_MS);
    this.#turn++;
    const name = registrationName(region.name, this.#turn);
    for (let pauseMs = FIRST_RETRY_MS; ; pauseMs = Math.min(pauseMs * 2, LONGEST_RETRY_MS)) {
      const inUse = await this.#unregisterUnlessInUse(this.#call());
      try {
        if (inUse !== undefined) throw inUse;
        this.#given.add(name);
        await client.registerSharedMemory({ ...region, name }, this.#call());
        this.#name = name;
        return;
      } catch (error) {
        if (!isServingError(error, 'SHM_REGION_EXISTS') || this.#clock.monotonicMs() >= giveUpAtMs) throw error;
      }
      await sleep(pauseMs, undefined, { ref: false, signal: this.#closing.signal });
    }
  }

  /** The server's refusal while a running request uses the region. */
  async #unregisterUnlessInUse(options: CallOptions): Promise<ServingError | undefined> {
    for (const name of this.#given) {
      try {
        await this.#options.client.unregisterSharedMemory(name, options);
        this.#given.delete(name);
      } catch (error) {
        if (!isServingError(error, 'SHM_REGION_EXISTS')) throw error;
        return error;
      }
    }
    return undefined;
  }

  #call() {
    return { timeoutMs: this.#options.timeoutMs, signal: this.#closing.signal };
  }

  async #unregister(signal: AbortSignal | undefined): Promise<ServingError | undefined> {
    this.#closing.abort(closedError());
    // A registration that was on its way must not come after our farewell.
    await this.#flight?.catch(() => {});
    const { timeoutMs } = this.#options;
    const giveUpAtMs = this.#clock.monotonicMs() + CLOSE_WAIT_MS;
    try {
      // Requests that were given up a moment ago may still run.
      while ((await this.#unregisterUnlessInUse({ timeoutMs, ...(signal && { signal }) })) !== undefined) {
        if (this.#clock.monotonicMs() >= giveUpAtMs) {
          return new ServingError('SHM_REGION_EXISTS', 'the server keeps the region: a running request uses it');
        }
        await sleep(CLOSE_PAUSE_MS, undefined, { ...(signal && { signal }) });
      }
      return undefined;
    } catch (error) {
      return isServingError(error, 'SHM_UNSUPPORTED') ? undefined : asServingError(error);
    }
  }
}

/** Undefined for a failure that says nothing about the server's willingness. */
function inlineReason(error: ServingError): InlineReason | undefined {
  switch (error.code) {
    case 'SHM_UNSUPPORTED':
      // UNIMPLEMENTED is the refusal; INTERNAL says that the server looked for the file and did not find ours.
      return error.details.status === 'INTERNAL' ? 'not-shared' : 'unsupported';
    case 'INFERENCE_UNSUPPORTED':
      return 'unsupported';
    case 'INFERENCE_ACCESS_DENIED':
    case 'INFERENCE_REJECTED':
    case 'SHM_INVALID':
      return 'refused';
    default:
      return undefined;
  }
}

function untilAborted<T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return work;
  return new Promise((resolve, reject) => {
    const leave = (): void => {
      reject(
        new ServingError('INFERENCE_CANCELLED', 'gave up waiting for the region to be registered', {
          cause: signal.reason,
        }),
      );
    };
    if (signal.aborted) leave();
    signal.addEventListener('abort', leave, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', leave));
  });
}

function closedError(): ServingError {
  return new ServingError('INFERENCE_CANCELLED', 'the shared-memory registration is closed');
}
