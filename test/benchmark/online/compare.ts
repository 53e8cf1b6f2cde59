/** Our client beside its peers, turn by turn in one run: what differs between the turns of one client is the machine. */
import type { Histogram } from 'hdr-histogram-js';
import { EMBEDDER } from './answers.ts';
import { histogramOf, median, type Quoted, quoted } from './histograms.ts';
import type { ClientName, Load, Run, Spec } from './load.ts';

export const RATE = 1_500;
const CALLERS = 32;
/** Nothing is to be cut off here: the peers' deadlines are as long. */
const NO_LIMIT = { embed: { timeoutMs: 5_000, maxInFlight: 10_000 } };

export type Compared = {
  readonly clients: Readonly<Record<ClientName, Quoted>>;
  /** CPU of the client a call, µs, turn by turn. */
  readonly cpuUs: Readonly<Record<ClientName, readonly number[]>>;
  readonly p99Ms: Readonly<Record<ClientName, readonly number[]>>;
  readonly errors: Readonly<Record<ClientName, number>>;
  readonly histograms: Readonly<Record<ClientName, Histogram>>;
};

const CLIENTS: readonly ClientName[] = ['ours', 'bare', 'tritonclient', 'go', 'none'];

export async function compareOpen(load: Load, target: string, turns: number, seconds: number): Promise<Compared> {
  const runs = await inTurns(load, turns, (seed) => ({ ...base(target), mode: 'open', seconds, seed }));
  const of = <T>(what: (list: readonly Run[]) => T) =>
    Object.fromEntries(CLIENTS.map((client) => [client, what(runs[client])])) as Record<ClientName, T>;
  const histograms = of((list) => histogramOf(list.map(({ times }) => times.embed!)));
  return {
    clients: of((list) => quoted(histogramOf(list.map(({ times }) => times.embed!)))),
    cpuUs: of((list) => list.map(({ cpuUs, calls }) => Math.round(cpuUs / calls))),
    p99Ms: of((list) => list.map(({ times }) => quoted(histogramOf([times.embed!])).p99)),
    errors: of((list) => list.reduce((sum, { errors }) => sum + total(errors), 0)),
    histograms,
  };
}

export type Throughput = Readonly<Record<ClientName, readonly number[]>>;

/** CPU of one client by that of another, each without what the measuring costs, in the same turn. */
export function cpuRatio({ cpuUs }: Compared, one: ClientName, other: ClientName): number {
  const net = (client: ClientName) => cpuUs[client].map((us, turn) => us - cpuUs.none[turn]!);
  return ratio(net(one), net(other));
}

/** Queries a second with 32 callers. */
export async function compareClosed(load: Load, target: string, turns: number, seconds: number): Promise<Throughput> {
  const runs = await inTurns(load, turns, (seed) => ({ ...base(target), mode: 'closed', seconds, seed }));
  const qps = ({ calls, errors, elapsedS }: Run) => Math.round((calls - total(errors)) / elapsedS);
  return Object.fromEntries(CLIENTS.map((client) => [client, runs[client].map(qps)])) as never;
}

/** Median over the turns of one client's figure by another's in the same turn. */
export function ratio(one: readonly number[], other: readonly number[]): number {
  return round(median(one.map((value, turn) => value / other[turn]!)));
}

export function round(value: number): number {
  return Math.round(value * 1_000) / 1_000;
}

async function inTurns(load: Load, turns: number, spec: (seed: number) => Spec): Promise<Record<ClientName, Run[]>> {
  const runs: Record<ClientName, Run[]> = { ours: [], bare: [], tritonclient: [], go: [], none: [] };
  for (let turn = 0; turn < turns; turn++) {
    for (const client of CLIENTS) {
      const of = spec(turn + 1);
      // Nothing is to be learned from how often nothing can be done.
      if (client === 'none' && of.mode === 'closed') continue;
      runs[client].push(await load.run(client, of));
    }
  }
  return runs;
}

function base(target: string): Omit<Spec, 'mode' | 'seconds' | 'seed'> {
  return { target, model: EMBEDDER, operation: 'embed', rate: RATE, callers: CALLERS, more: NO_LIMIT };
}

function total(errors: Readonly<Record<string, number>>): number {
  return Object.values(errors).reduce((sum, count) => sum + count, 0);
}
