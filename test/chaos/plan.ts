/** What a chaos run does, from its seed alone: the same seed gives the same faults at the same distances. Pure. */
import { randomFrom } from './random.ts';

/** What stands behind a proxy of its own and is a process of its own. */
export const parts = ['engine', 'broker', 'store'] as const;
export type Part = (typeof parts)[number];

export const partActions = ['killed', 'stopped', 'frozen', 'cut off', 'black-holed', 'delayed'] as const;
export type PartAction = (typeof partActions)[number];

export const workerFaults = [
  'worker killed',
  'worker stopped',
  'worker frozen',
  'worker frozen past its session',
  'guest worker',
  'shared memory full',
] as const;
export type WorkerFault = (typeof workerFaults)[number];

export type Fault = WorkerFault | `${Part} ${PartAction}`;

export const partFaults: readonly `${Part} ${PartAction}`[] = parts.flatMap((part) =>
  partActions.map((action) => `${part} ${action}` as const),
);
export const faults: readonly Fault[] = [...workerFaults, ...partFaults];

/** Whose work may have to be done again: a dead worker's, that of partitions that moved, or that of a call that failed. */
export type Effect = 'kill' | 'rebalance' | 'call';

export function effectOf(fault: Fault): Effect {
  if (fault === 'worker killed') return 'kill';
  if (fault === 'worker frozen' || fault.startsWith('engine') || fault.startsWith('store')) return 'call';
  return 'rebalance';
}

/** One fault from its beginning to its end. */
export type Stroke = {
  readonly fault: Fault;
  /** Which of the workers, for the faults of one. */
  readonly worker: number;
  /** How long the fault lasts. */
  readonly lastsMs: number;
};

export type Round = Stroke & {
  /** Misfortunes seldom come singly: a further fault that begins so long after the first, of another target. */
  readonly also: (Stroke & { readonly afterMs: number }) | undefined;
  /** From the beginning of this round to that of the next, or, when rounds do not overlap, of quiet after it. */
  readonly pauseMs: number;
};

/** The group forgets a silent member after this time: what the broker allows at least. */
export const SESSION_TIMEOUT_MS = 6_000;

function durationOf(fault: Fault): readonly [from: number, to: number] {
  switch (fault) {
    case 'worker frozen past its session':
      return [SESSION_TIMEOUT_MS + 1_000, SESSION_TIMEOUT_MS + 3_500];
    case 'worker frozen':
      return [200, 3_000];
    case 'guest worker':
      return [2_000, 6_000];
    case 'broker black-holed':
    case 'broker cut off':
    case 'broker frozen':
      return [500, 5_000];
    default:
      return [200, 3_000];
  }
}

const SHARE_OF_DOUBLE_FAULTS = 0.4;
/** What hurts most while engine, broker or store are away. */
const workerDeaths = ['worker killed', 'worker killed', 'worker stopped', 'worker frozen past its session'] as const;

/** Each fault that can be at least once when there are enough rounds, in an order of the seed's. */
export function planRounds(
  seed: number,
  rounds: number,
  workers: number,
  canBe: (fault: Fault) => boolean = () => true,
): Round[] {
  const random = randomFrom(seed);
  const faultsOfParts = partFaults.filter(canBe);
  const kinds: Fault[] = [];
  while (kinds.length < rounds) {
    // The two that are closest to what the product promises come twice.
    const deck: Fault[] = [...faults.filter(canBe), 'worker killed', 'worker frozen past its session'];
    while (deck.length > 0) kinds.push(...deck.splice(random.between(0, deck.length - 1), 1));
  }
  const stroke = (fault: Fault): Stroke => ({
    fault,
    worker: random.between(0, workers - 1),
    lastsMs: random.between(...durationOf(fault)),
  });
  const isOfPart = (fault: Fault) => partFaults.some((each) => each === fault);
  return kinds.slice(0, rounds).map((fault) => {
    const first = stroke(fault);
    const others = isOfPart(fault) ? workerDeaths : faultsOfParts;
    const second = stroke(others[random.between(0, others.length - 1)]!);
    const afterMs = random.between(0, first.lastsMs);
    return {
      ...first,
      also: random.chance(SHARE_OF_DOUBLE_FAULTS) ? { ...second, afterMs } : undefined,
      pauseMs: random.between(1_500, 4_000),
    };
  });
}
