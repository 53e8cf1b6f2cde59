/**
 * Is there GPU memory left to work with. Pure: a reading and a time in, a status out.
 *
 * Full is more used than the ratio allows of the capacity, or more held for good than the static limit, on the worst GPU.
 * What was found full is full until it is clearly below: at 95 % of the limit. A GPU whose numbers cannot be had is unknown,
 * which is neither full nor free: without a GPU, or with MIG, Triton shows none, and a pool must work there. Only after
 * "full" does unknown count as full still, for a few readings: nobody has seen the memory come back.
 */
import type { VramState } from '../../lifecycle/health-states.ts';
import type { VramStatus } from '../status-schema.ts';
import { FloorWindow } from './floor.ts';
import type { GpuReading, VramReading } from './reading.ts';

export type VramLimits = {
  readonly capacityBytes: number;
  readonly maxUtilization: number;
  readonly maxStaticBytes: number;
};

type Known = { readonly gpu: string; readonly used: number; readonly capacity: number; readonly utilization: number };

/** Share of a limit below which what was over it is well again. */
const CLEAR_AT = 0.95;
/** Readings without numbers over which "full" stands. */
const HOLD_READINGS = 3;
/** A card of 24 GiB says that it has 22.5: no fault of the setting. */
const NAMEPLATE = 0.9;
const GIB = 1_073_741_824;

const FULL: ReadonlySet<VramState> = new Set(['over_utilization', 'over_static']);

export class VramGuard {
  readonly #limits: VramLimits;
  readonly #floor = new FloorWindow();
  #overUtilization = false;
  #overStatic = false;
  #blind = 0;
  #status: VramStatus;

  constructor(limits: VramLimits) {
    this.#limits = limits;
    this.#status = this.#blank('not_checked', 'not checked yet', []);
  }

  get status(): VramStatus {
    return this.#status;
  }

  /** False counts against readiness. */
  get ok(): boolean {
    return !FULL.has(this.#status.state);
  }

  /** @param statisticsBytes what the models say they hold of the fullest GPU; 0 or undefined where they do not say. */
  look(reading: VramReading, statisticsBytes: number | undefined, nowMs: number): VramStatus {
    this.#status = this.#judge(reading, statisticsBytes, nowMs);
    return this.#status;
  }

  #judge(reading: VramReading, statisticsBytes: number | undefined, nowMs: number): VramStatus {
    switch (reading.kind) {
      case 'unreachable':
        return this.#unknown('unreachable', `GPU memory is not known: ${reading.reason}`, []);
      case 'absent':
        return this.#unknown('no_gpu_metrics', 'Triton shows no GPU memory (no GPU, MIG, or GPU metrics are off)', []);
      case 'gpus':
        return this.#judgeGpus(reading.gpus, statisticsBytes, nowMs);
    }
  }

  #judgeGpus(gpus: readonly GpuReading[], statisticsBytes: number | undefined, nowMs: number): VramStatus {
    const { maxUtilization, maxStaticBytes } = this.#limits;
    const known = gpus.flatMap(({ gpu, bytes }) => (bytes === undefined ? [] : [this.#known(gpu, bytes)]));
    const notes = this.#notes(gpus);
    for (const { gpu, used } of known) this.#floor.add(gpu, used, nowMs);
    const shown = gpus.map((one) => this.#shown(one, known, nowMs));
    if (known.length === 0) return this.#unknown('invalid_metrics', notes.join('; '), shown);
    this.#blind = 0;
    const utilization = Math.max(...known.map((one) => one.utilization));
    const floors = known.flatMap(({ gpu }) => this.#floor.of(gpu, nowMs) ?? []);
    const told = statisticsBytes !== undefined && statisticsBytes > 0;
    const staticBytes = told ? statisticsBytes : floors.length > 0 ? Math.max(...floors) : null;
    this.#overUtilization = isOver(utilization, maxUtilization, this.#overUtilization);
    this.#overStatic = staticBytes !== null && isOver(staticBytes, maxStaticBytes, this.#overStatic);
    const faults = [
      ...(this.#overUtilization
        ? [`${percent(utilization)} of GPU memory is used, at most ${percent(maxUtilization)} may be`]
        : []),
      ...(this.#overStatic
        ? [`models hold ${gib(staticBytes ?? 0)} for good, at most ${gib(maxStaticBytes)} may be`]
        : []),
    ];
    const state = this.#overUtilization ? 'over_utilization' : this.#overStatic ? 'over_static' : 'ok';
    const reasons = [...faults, ...notes];
    return {
      ...this.#blank(state, reasons.length === 0 ? null : reasons.join('; '), shown),
      utilization,
      staticBytes,
      staticSource: staticBytes === null ? null : told ? 'statistics' : 'floor',
    };
  }

  #known(gpu: string, { used, total }: { readonly used: number; readonly total: number }): Known {
    const capacity = Math.min(total, this.#limits.capacityBytes);
    return { gpu, used, capacity, utilization: used / capacity };
  }

  #shown({ gpu, bytes }: GpuReading, known: readonly Known[], nowMs: number): VramStatus['gpus'][number] {
    return {
      gpu,
      usedBytes: bytes?.used ?? null,
      totalBytes: bytes?.total ?? null,
      utilization: known.find((one) => one.gpu === gpu)?.utilization ?? null,
      staticBytes: this.#floor.of(gpu, nowMs) ?? null,
    };
  }

  #notes(gpus: readonly GpuReading[]): string[] {
    const unusable = gpus.filter(({ bytes }) => bytes === undefined).map(({ gpu }) => gpu);
    const totals = gpus.flatMap(({ bytes }) => (bytes === undefined ? [] : [bytes.total]));
    const smallest = totals.length === 0 ? undefined : Math.min(...totals);
    const notes: string[] = [];
    if (unusable.length > 0) notes.push(`no usable numbers of ${unusable.join(', ')}`);
    if (smallest !== undefined && smallest < this.#limits.capacityBytes * NAMEPLATE) {
      notes.push(`RAG_SERVING_VRAM_CAPACITY_BYTES is more than the card has (${gib(smallest)}): counted by the card`);
    }
    return notes;
  }

  #unknown(state: VramState, reason: string, gpus: VramStatus['gpus']): VramStatus {
    this.#blind++;
    const long = this.#blind > HOLD_READINGS;
    if (long) this.#floor.clear();
    if (!long && !this.ok) return { ...this.#status, reason: `${reason}; it was full when last seen` };
    this.#overUtilization = false;
    this.#overStatic = false;
    return this.#blank(state, reason, gpus);
  }

  #blank(state: VramState, reason: string | null, gpus: VramStatus['gpus']): VramStatus {
    const { capacityBytes, maxUtilization, maxStaticBytes } = this.#limits;
    return {
      state,
      reason,
      utilization: null,
      maxUtilization,
      staticBytes: null,
      maxStaticBytes,
      staticSource: null,
      capacityBytes,
      gpus,
    };
  }
}

function isOver(value: number, limit: number, before: boolean): boolean {
  return value > (before ? limit * CLEAR_AT : limit);
}

function percent(share: number): string {
  return `${(share * 100).toFixed(1)} %`;
}

function gib(bytes: number): string {
  return `${(bytes / GIB).toFixed(1)} GiB`;
}
