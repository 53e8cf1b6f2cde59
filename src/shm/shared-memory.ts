/**
 * Shared memory from start to end: mount, ownership, sweep, space, region, registration, slots, in this order, and back.
 *
 * Everything local is checked before the server is asked; a start that fails or that ends inline leaves no file.
 */
import type { Clock } from '../clock.ts';
import { asServingError, type ServingError } from '../errors.ts';
import type { InferenceClient } from '../inference/client.ts';
import type { RegionRange } from '../kserve/tensor.ts';
import type { Log } from '../telemetry/log.ts';
import { requireShmMount, requireSpace } from './capacity.ts';
import { type ByteRange, layoutFor, type RegionLayout, type SlotLayout } from './layout.ts';
import { claimIncarnation, type Incarnation } from './ownership.ts';
import { createRegion, type SharedRegion } from './region.ts';
import { Registration, type TransferMode } from './registration.ts';
import { type SlotLease, SlotPool } from './slot-pool.ts';
import { type SweepReport, sweepDead, sweepRegistrations } from './sweep.ts';

export type SharedMemoryOptions = {
  readonly basePath: string;
  readonly workerId: string;
  /** 0 switches shared memory off. */
  readonly slots: number;
  readonly inputBytes: number;
  readonly outputBytes: number;
  /** See SlotPoolOptions. */
  readonly quarantineMs: number;
  /** For each call to the server. */
  readonly timeoutMs: number;
  /** See RegistrationOptions. */
  readonly inUseWaitMs?: number;
  readonly fileMode?: number;
  readonly clock?: Clock;
};

export type OpenedMemory =
  | { readonly mode: 'shared-memory'; readonly memory: SharedMemory }
  | Extract<TransferMode, { mode: 'inline' }>;

type Parts = {
  readonly layout: RegionLayout;
  readonly region: SharedRegion;
  readonly registration: Registration;
  readonly pool: SlotPool;
  readonly incarnation: Incarnation;
};

export class SharedMemory {
  readonly layout: RegionLayout;
  readonly registration: Registration;
  readonly pool: SlotPool;
  readonly #region: SharedRegion;
  readonly #incarnation: Incarnation;
  #closed: Promise<readonly ServingError[]> | undefined;

  constructor(parts: Parts) {
    this.layout = parts.layout;
    this.registration = parts.registration;
    this.pool = parts.pool;
    this.#region = parts.region;
    this.#incarnation = parts.incarnation;
  }

  get regionName(): string {
    return this.#region.name;
  }

  slotOf(lease: SlotLease): SlotLayout {
    return this.layout.slots[lease.index]!;
  }

  /** The bytes of a slot's area, or of a part of it. Valid while the lease lasts. */
  view(range: ByteRange): Buffer {
    return this.#region.view(range);
  }

  /** The same range as a tensor of an inference call names it. */
  rangeOf(range: ByteRange): RegionRange {
    return { region: this.registration.regionName, offset: range.offset, byteSize: range.byteSize };
  }

  /**
   * Every step runs; the errors of those that failed are returned. A second call gets the same answer. An abort ends the
   * wait for the server, so that the files are removed in any case.
   */
  close(signal?: AbortSignal): Promise<readonly ServingError[]> {
    this.#closed ??= this.#close(signal);
    return this.#closed;
  }

  async #close(signal: AbortSignal | undefined): Promise<readonly ServingError[]> {
    this.pool.close();
    const failed = await this.registration.close(signal);
    const errors = failed === undefined ? [] : [failed];
    try {
      // Whoever still holds a lease may touch its bytes.
      this.#region.close({ viewsMayRemain: this.pool.counts.leased > 0 });
    } catch (error) {
      errors.push(asServingError(error));
    }
    await this.#incarnation.release();
    return errors;
  }
}

/**
 * Throws SHM_INVALID or SHM_NO_SPACE for what is wrong here, and the server's own error when it is away.
 * Ask only a server that is live: the answer to the first registration decides between shared memory and inline.
 */
export async function openSharedMemory(
  client: InferenceClient,
  options: SharedMemoryOptions,
  log: Log,
  signal?: AbortSignal,
): Promise<OpenedMemory> {
  if (options.slots === 0) return { mode: 'inline', reason: 'disabled' };
  const { basePath, workerId, timeoutMs } = options;
  const layout = layoutFor(options);
  await requireShmMount(basePath);
  const { incarnation, dead } = await claimIncarnation({ basePath, workerId });
  let memory: SharedMemory | undefined;
  try {
    if (dead.length > 0) report(log, await sweepDead(client, { basePath, workerId, dead }, timeoutMs));
    await requireSpace(basePath, layout.regionBytes);
    const region = await createRegion({
      basePath,
      name: incarnation.regionName,
      regionBytes: layout.regionBytes,
      ...(options.fileMode === undefined ? {} : { fileMode: options.fileMode }),
    });
    memory = assemble(client, options, log, { layout, region, incarnation });
    const outcome = await memory.registration.ensureRegistered(0, signal);
    if (outcome.mode === 'shared-memory') {
      report(log, await sweepRegistrations(client, workerId, memory.registration.regionName, timeoutMs));
      return { mode: 'shared-memory', memory };
    }
    await memory.close();
    return outcome;
  } catch (error) {
    // Through the registration: a call that timed out here may have been heard there.
    if (memory === undefined) await incarnation.release();
    else await memory.close();
    throw error;
  }
}

function assemble(
  client: InferenceClient,
  options: SharedMemoryOptions,
  log: Log,
  made: Pick<Parts, 'layout' | 'region' | 'incarnation'>,
): SharedMemory {
  const clock = options.clock === undefined ? {} : { clock: options.clock };
  const pool = new SlotPool({
    slots: options.slots,
    quarantineMs: options.quarantineMs,
    onQuarantine: (slot, reason) => log.warn('shared-memory slot quarantined', { slot, reason }),
    ...clock,
  });
  const registration = new Registration({
    client,
    region: made.region.registration,
    timeoutMs: options.timeoutMs,
    ...(options.inUseWaitMs === undefined ? {} : { inUseWaitMs: options.inUseWaitMs }),
    onReregistered: () => {
      const freed = pool.reclaimQuarantined();
      log.info('shared-memory region registered again', { region: made.region.name, freed });
    },
    ...clock,
  });
  return new SharedMemory({ ...made, pool, registration });
}

function report(log: Log, swept: SweepReport): void {
  const { files, registrations, left } = swept;
  if (files.length + registrations.length > 0) log.info('swept what a dead incarnation left', { files, registrations });
  if (left.length > 0) log.warn('could not sweep all that a dead incarnation left', { left });
}
