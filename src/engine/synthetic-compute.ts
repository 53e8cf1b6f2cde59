/**
 * Compute of `--synthetic`: instant vectors, with the service times and the faults that a test or a benchmark asks for.
 *
 * A fault is tied to a marker in a text, so that it hits the same chunk however the chunks are batched, and none by
 * accident. It fails the request that holds the text, not the others that run in the same execution.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { asBuffer } from '../kserve/bytes.ts';
import type { Columns, Compute, ComputeResult } from './compute.ts';
import { syntheticScore, syntheticVector } from './synthetic.ts';
import { WireFault } from './wire-fault.ts';

const FAULT_KINDS = ['invalid-argument', 'internal', 'unavailable', 'nan', 'inf', 'zero', 'late'] as const;
/** `nan`, `inf` and `zero` spoil the text's own row; `late` holds the whole execution back; the others are statuses. */
export type FaultKind = (typeof FAULT_KINDS)[number];
export const faultKinds: readonly FaultKind[] = FAULT_KINDS;

export type SyntheticFault = { readonly marker: string; readonly kind: FaultKind };

export type SyntheticOptions = {
  readonly dims: number;
  /** Service time of one execution, and of each row in it. */
  readonly batchMs: number;
  readonly perTextUs: number;
  /** Every Nth execution takes `stallMs` longer; 0 = never. */
  readonly stallEvery: number;
  readonly stallMs: number;
  /** Share of requests that end INTERNAL, spread evenly; 0…1. */
  readonly errorRate: number;
  /** How much longer an execution takes that holds a text with a `late` marker. */
  readonly lateMs: number;
  readonly faults: readonly SyntheticFault[];
};

export const plainSynthetic: SyntheticOptions = {
  dims: 384,
  batchMs: 0,
  perTextUs: 0,
  stallEvery: 0,
  stallMs: 0,
  errorRate: 0,
  lateMs: 2_000,
  faults: [],
};

/** What makes one row of the output from the elements of one row of the inputs. */
export type RowMaker = { readonly rowBytes: number; make(elements: readonly Uint8Array[]): Uint8Array };

export function syntheticEmbedding(dims: number): RowMaker {
  return { rowBytes: dims * 2, make: ([text]) => syntheticVector(text!, dims) };
}

export function syntheticReranking(dims: number): RowMaker {
  return {
    rowBytes: 4,
    make: ([query, passage]) => new Uint8Array(Float32Array.of(syntheticScore(query!, passage!, dims)).buffer),
  };
}

const QUOTED_BYTES = 64;
const STATUS_OF = { 'invalid-argument': 'INVALID_ARGUMENT', internal: 'INTERNAL', unavailable: 'UNAVAILABLE' } as const;
/** Little-endian FP16 that the first element of a spoilt row takes. Of an FP32 score it is the upper half. */
const SPOILT_BITS = { nan: 0x7e00, inf: 0x7c00 } as const;
const SPOILT_FP32_BITS = { nan: 0x7fc0, inf: 0x7f80 } as const;

export class SyntheticCompute implements Compute {
  readonly #options: SyntheticOptions;
  readonly #rows: RowMaker;
  readonly #markers: readonly { readonly bytes: Buffer; readonly kind: FaultKind }[];
  #executions = 0;
  #errorsOwed = 0;

  constructor(options: SyntheticOptions, rows: RowMaker) {
    this.#options = options;
    this.#rows = rows;
    this.#markers = options.faults.map(({ marker, kind }) => ({ bytes: Buffer.from(marker, 'utf8'), kind }));
  }

  async run(requests: readonly Columns[]): Promise<readonly ComputeResult[]> {
    const waitMs = this.#serviceMs(requests);
    // Not a reason to stay: an engine that was told to hurry does not wait for a service time.
    if (waitMs > 0) await sleep(waitMs, undefined, { ref: false });
    return requests.map((columns) => this.#answer(columns));
  }

  #serviceMs(requests: readonly Columns[]): number {
    const { batchMs, perTextUs, stallEvery, stallMs, lateMs } = this.#options;
    this.#executions++;
    let rows = 0;
    let late = false;
    for (const columns of requests) {
      rows += columns[0]!.length;
      if (this.#markers.length > 0) late ||= this.#faultsOf(columns).includes('late');
    }
    const stall = stallEvery > 0 && this.#executions % stallEvery === 0 ? stallMs : 0;
    return batchMs + (perTextUs * rows) / 1000 + stall + (late ? lateMs : 0);
  }

  #answer(columns: Columns): ComputeResult {
    this.#errorsOwed += this.#options.errorRate;
    if (this.#errorsOwed >= 1) {
      this.#errorsOwed -= 1;
      return new WireFault('INTERNAL', 'synthetic failure by --error-rate', 'BACKEND');
    }
    const count = columns[0]!.length;
    const { rowBytes } = this.#rows;
    const output = new Uint8Array(count * rowBytes);
    for (let row = 0; row < count; row++) {
      const elements = columns.map((column) => column[row]!);
      output.set(this.#rows.make(elements), row * rowBytes);
    }
    if (this.#markers.length === 0) return output;
    return this.#withFaults(columns, output);
  }

  #withFaults(columns: Columns, output: Uint8Array): ComputeResult {
    const { rowBytes } = this.#rows;
    const kinds = this.#faultsOf(columns);
    for (const [row, kind] of kinds.entries()) {
      if (kind === 'invalid-argument' || kind === 'internal' || kind === 'unavailable') {
        // Quoted as real models do it: clients must not repeat a server's words.
        const quoted = asBuffer(columns[0]![row]!).toString('utf8', 0, QUOTED_BYTES);
        return new WireFault(STATUS_OF[kind], `synthetic ${kind} fault for ${quoted}`, 'BACKEND');
      }
    }
    kinds.forEach((kind, row) => {
      const at = row * rowBytes;
      if (kind === 'zero') output.fill(0, at, at + rowBytes);
      if (kind !== 'nan' && kind !== 'inf') return;
      const view = new DataView(output.buffer, output.byteOffset + at, rowBytes);
      if (rowBytes === 4) view.setUint16(2, SPOILT_FP32_BITS[kind], true);
      else view.setUint16(0, SPOILT_BITS[kind], true);
    });
    return output;
  }

  /** For each row the first fault whose marker one of its elements holds. */
  #faultsOf(columns: Columns): readonly (FaultKind | undefined)[] {
    return columns[0]!.map(
      (_, row) =>
        this.#markers.find(({ bytes }) => columns.some((column) => asBuffer(column[row]!).includes(bytes)))?.kind,
    );
  }
}
