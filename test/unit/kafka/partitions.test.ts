/**
 * Members of a group over random rebalances, commits that are lost or answered late, and views that come late, against a
 * broker that, like the real one, takes any offset from whoever is in the current generation.
 */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type PartitionState, Partitions } from '../../../src/kafka/partitions.ts';
import { decodeTail } from '../../../src/offsets/commit-metadata.ts';
import type { Commit } from '../../../src/offsets/commit-plan.ts';
import { type BrokerOffset, NOTHING_COMMITTED } from '../../../src/offsets/opening.ts';

const PARTITIONS = [0, 1, 2];
const LOG_END = 60n;
const idOf = (partition: number) => ({ topic: 't', partition });
/** Every fifth offset is a transaction marker: it is never delivered. */
const isData = (offset: bigint) => offset % 5n !== 4n;

type InFlight = { readonly partition: number; readonly state: PartitionState; readonly offset: bigint };

class World {
  readonly broker: BrokerOffset[] = PARTITIONS.map(() => NOTHING_COMMITTED);
  readonly done = PARTITIONS.map(() => new Set<bigint>());
  readonly members = [new Member(this, 0), new Member(this, 1)] as const;
  owners: readonly number[] = [];
  generation = 0;

  constructor() {
    this.rebalance([0, 0, 1], undefined);
  }

  /** `deaf`: a member that does not hear of this generation, and of the next one as if it had followed on its last. */
  rebalance(owners: readonly number[], deaf: number | undefined): void {
    this.owners = owners;
    this.generation += 1;
    for (const member of this.members) {
      if (member.number === deaf) continue;
      member.assign(PARTITIONS.filter((partition) => owners[partition] === member.number));
    }
  }

  /** Checks what no commit may break, and stores it. */
  store(member: number, { partition, offset, metadata }: Commit): void {
    const before = this.broker[partition]!;
    expect(this.owners[partition], 'commit of a partition that is not owned').toBe(member);
    expect(offset >= before.offset, `commit goes back from ${before.offset} to ${offset}`).toBe(true);
    expect(this.#undone(partition, 0n, offset), `passed by the commit of ${offset}`).toEqual([]);
    const tail = decodeTail(offset, metadata);
    expect(tail.kind).not.toBe('ignored');
    for (const { start, end } of tail.kind === 'tail' ? tail.done : []) {
      expect(this.#undone(partition, start, end), 'claimed by the metadata').toEqual([]);
    }
    this.broker[partition] = { offset, metadata };
  }

  #undone(partition: number, start: bigint, end: bigint): bigint[] {
    const offsets: bigint[] = [];
    for (let o = start; o < end; o++) if (isData(o) && !this.done[partition]!.has(o)) offsets.push(o);
    return offsets;
  }
}

class Member {
  readonly number: number;
  readonly #world: World;
  readonly #partitions = new Partitions();
  readonly #position = new Map<number, bigint>();
  #inFlight: InFlight[] = [];
  #unanswered: Commit[] = [];
  #generation = 0;

  constructor(world: World, number: number) {
    this.#world = world;
    this.number = number;
  }

  assign(owned: readonly number[]): void {
    this.#generation = this.#world.generation;
    this.#partitions.assign(owned.map(idOf));
    this.#position.clear();
  }

  /** The client looks up where to read from, as kafkajs does by itself. */
  begin(partition: number): void {
    if (this.#partitions.get(idOf(partition)) === undefined || this.#position.has(partition)) return;
    const { offset } = this.#world.broker[partition]!;
    const start = offset < 0n ? 0n : offset;
    this.#position.set(partition, start);
    this.#partitions.beginsAt(idOf(partition), start);
  }

  view(partition: number): void {
    this.#partitions.brokerHolds(idOf(partition), this.#world.broker[partition]!);
  }

  read(partition: number, count: number): void {
    const state = this.#partitions.get(idOf(partition));
    const from = this.#position.get(partition);
    if (state?.ledger === undefined || !state.anchored || from === undefined) return;
    const to = from + BigInt(count) < LOG_END ? from + BigInt(count) : LOG_END;
    for (let offset = from; offset < to; offset++) {
      if (!isData(offset)) continue;
      if (state.ledger.track(offset) === 'new') this.#inFlight.push({ partition, state, offset });
      else {
        const isHere = this.#inFlight.some((one) => one.state === state && one.offset === offset);
        const isDone = this.#world.done[partition]!.has(offset);
        if (!isHere && !isDone) throw new Error(`${offset} is hidden, though nobody has done it`);
      }
    }
    if (to > from) state.ledger.sawEnd(to - 1n);
    this.#position.set(partition, to);
  }

  finish(pick: number): void {
    if (this.#inFlight.length === 0) return;
    const [one] = this.#inFlight.splice(pick % this.#inFlight.length, 1);
    this.#world.done[one!.partition]!.add(one!.offset);
    if (this.#partitions.isCurrent(one!.state)) one!.state.ledger!.markDone(one!.offset);
  }

  commit(fate: 'answered' | 'lost' | 'answered late'): void {
    for (const commit of this.#partitions.plan()) {
      // The broker refuses a commit that is signed with an old generation.
      if (fate === 'lost' || this.#generation !== this.#world.generation) continue;
      this.#world.store(this.number, commit);
      if (fate === 'answered') this.#partitions.acknowledge(commit);
      else this.#unanswered.push(commit);
    }
  }

  answer(): void {
    for (const commit of this.#unanswered) this.#partitions.acknowledge(commit);
    this.#unanswered = [];
  }

  verify(): void {
    for (const id of this.#partitions.owned) this.#partitions.verify(id, this.#world.broker[id.partition]!);
  }

  /** All that follows on an assignment when nothing comes in between. */
  join(): void {
    for (const partition of PARTITIONS) {
      this.begin(partition);
      this.view(partition);
    }
    this.commit('answered');
  }

  /** What another has in flight or had is not waited for. */
  drain(): void {
    this.join();
    for (const partition of PARTITIONS) this.read(partition, Number(LOG_END));
    while (this.#inFlight.length > 0) this.finish(0);
    this.commit('answered');
  }
}

const member = fc.nat(1);
const partition = fc.nat(PARTITIONS.length - 1);
const step = fc.oneof(
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('join' as const), member }) },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('rebalance' as const),
      owners: fc.array(member, { minLength: 3, maxLength: 3 }),
      deaf: fc.option(member, { nil: undefined, freq: 2 }),
    }),
  },
  { weight: 4, arbitrary: fc.record({ kind: fc.constantFrom('begin' as const, 'view' as const), member, partition }) },
  { weight: 6, arbitrary: fc.record({ kind: fc.constant('read' as const), member, partition, count: fc.nat(12) }) },
  {
    weight: 10,
    arbitrary: fc.record({
      kind: fc.constant('finish' as const),
      member,
      pick: fc.nat(),
      count: fc.integer({ min: 1, max: 6 }),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant('commit' as const),
      member,
      fate: fc.constantFrom('answered' as const, 'lost' as const, 'answered late' as const),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constantFrom('answer' as const, 'verify' as const), member }) },
);

describe('members of a group, any interleaving', () => {
  it('never commit past an open offset, back, or for others; no tail hides what is not done; all is done in the end', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 250, size: 'max' }), (steps) => {
        const world = new World();
        for (const action of steps) {
          if (action.kind === 'rebalance') {
            world.rebalance(action.owners, action.deaf);
            continue;
          }
          const actor = world.members[action.member]!;
          switch (action.kind) {
            case 'join':
              actor.join();
              break;
            case 'begin':
              actor.begin(action.partition);
              break;
            case 'view':
              actor.view(action.partition);
              break;
            case 'read':
              actor.read(action.partition, action.count);
              break;
            case 'finish':
              for (let i = 0; i < action.count; i++) actor.finish(action.pick);
              break;
            case 'commit':
              actor.commit(action.fate);
              break;
            case 'answer':
              actor.answer();
              break;
            case 'verify':
              actor.verify();
              break;
          }
        }
        // Everybody hears of the last one.
        world.rebalance(world.owners, undefined);
        for (const one of world.members) one.drain();
        expect(world.broker.map(({ offset }) => offset)).toEqual(PARTITIONS.map(() => LOG_END));
      }),
      { numRuns: 150 },
    );
  });
});

describe('a broker that takes less metadata', () => {
  it('is sent less and less, and none in the end', () => {
    const partitions = new Partitions();
    partitions.assign([idOf(0)]);
    partitions.beginsAt(idOf(0), 0n);
    partitions.brokerHolds(idOf(0), { offset: 0n, metadata: '' });
    const ledger = partitions.get(idOf(0))!.ledger!;
    for (let offset = 0n; offset < 12_000n; offset++) {
      ledger.track(offset);
      if (offset % 2n === 1n) ledger.markDone(offset);
    }
    const sent = () => partitions.plan()[0]?.metadata.length ?? 0;
    expect(sent()).toBeGreaterThan(2_000);
    expect(partitions.shrinkMetadata()).toBe(2_048);
    expect(sent()).toBeLessThanOrEqual(2_048);
    while (partitions.shrinkMetadata() > 0) expect(sent()).toBeGreaterThan(0);
    expect(sent()).toBe(0);
    expect(partitions.tailIsFull(idOf(0))).toBe(false);
  });
});
