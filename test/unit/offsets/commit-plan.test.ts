import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { planCommits } from '../../../src/offsets/commit-plan.ts';
import { PartitionEpochs, partitionKey } from '../../../src/offsets/epochs.ts';
import { OffsetLedger } from '../../../src/offsets/ledger.ts';

const base = { topic: 't', partition: 0, epoch: 3, metadata: '' };

describe('planCommits', () => {
  const cases = [
    { name: 'moved forward', progress: { ...base, commitPoint: 9n, committed: 5n }, current: 3, offsets: [9n] },
    { name: 'not moved', progress: { ...base, commitPoint: 5n, committed: 5n }, current: 3, offsets: [] },
    { name: 'would go back', progress: { ...base, commitPoint: 4n, committed: 5n }, current: 3, offsets: [] },
    {
      name: 'nothing read yet',
      progress: { ...base, commitPoint: undefined, committed: undefined },
      current: 3,
      offsets: [],
    },
    {
      name: 'the broker holds nothing usable',
      progress: { ...base, commitPoint: 0n, committed: undefined },
      current: 3,
      offsets: [0n],
    },
    {
      name: 'owned again in a newer epoch',
      progress: { ...base, commitPoint: 9n, committed: 5n },
      current: 4,
      offsets: [],
    },
    { name: 'not owned', progress: { ...base, commitPoint: 9n, committed: 5n }, current: undefined, offsets: [] },
  ];
  for (const { name, progress, current, offsets } of cases) {
    it(name, () => {
      const plan = planCommits([progress], (_id, epoch) => epoch === current);
      expect(plan.map((commit) => commit.offset)).toEqual(offsets);
    });
  }
});

describe('two members over random rebalances', () => {
  // A member as the source drives it, against a broker that, like the real one, takes any commit.
  class Member {
    readonly epochs = new PartitionEpochs();
    readonly ledgers = new Map<string, { epoch: number; ledger: OffsetLedger; committed: bigint }>();
    readonly inFlight: { partition: number; offset: bigint; ledger: OffsetLedger }[] = [];

    assign(partitions: readonly number[], committed: readonly bigint[]): void {
      const ids = partitions.map((partition) => ({ topic: 't', partition }));
      const change = this.epochs.assign(ids);
      for (const id of change.lost) this.ledgers.delete(partitionKey(id));
      for (const id of change.gained) {
        const start = committed[id.partition]!;
        this.ledgers.set(partitionKey(id), {
          epoch: this.epochs.epochOf(id)!,
          ledger: new OffsetLedger(start),
          committed: start,
        });
      }
    }

    read(partition: number, offset: bigint): void {
      const held = this.ledgers.get(`t:${partition}`);
      if (held?.ledger.track(offset) !== 'new') return;
      this.inFlight.push({ partition, offset, ledger: held.ledger });
    }

    plan() {
      const progress = Array.from(this.ledgers, ([key, { epoch, ledger, committed }]) => {
        const partition = Number(key.slice(2));
        return { topic: 't', partition, epoch, commitPoint: ledger.commitPoint, committed, metadata: '' };
      });
      return planCommits(progress, (id, epoch) => this.epochs.isCurrent(id, epoch));
    }
  }

  const PARTITIONS = 3;
  const step = fc.oneof(
    {
      weight: 1,
      arbitrary: fc.record({
        kind: fc.constant('rebalance' as const),
        owners: fc.array(fc.boolean(), { minLength: 3, maxLength: 3 }),
      }),
    },
    {
      weight: 4,
      arbitrary: fc.record({
        kind: fc.constant('read' as const),
        member: fc.nat(1),
        partition: fc.nat(PARTITIONS - 1),
        count: fc.nat(6),
      }),
    },
    { weight: 4, arbitrary: fc.record({ kind: fc.constant('done' as const), member: fc.nat(1), pick: fc.nat() }) },
    { weight: 2, arbitrary: fc.record({ kind: fc.constant('commit' as const), member: fc.nat(1) }) },
  );

  it('never commit past an undone offset, never back, never for a lost partition', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 150 }), (steps) => {
        const members = [new Member(), new Member()] as const;
        const committed = Array.from({ length: PARTITIONS }, () => 0n);
        const done = Array.from({ length: PARTITIONS }, () => new Set<bigint>());
        let owners = [false, false, false];
        const rebalance = (next: boolean[]) => {
          owners = next;
          for (const [index, member] of members.entries()) {
            member.assign(
              [0, 1, 2].filter((partition) => (next[partition] ? 1 : 0) === index),
              committed,
            );
          }
        };
        rebalance(owners);
        for (const action of steps) {
          if (action.kind === 'rebalance') rebalance(action.owners);
          else if (action.kind === 'read') {
            const member = members[action.member]!;
            // A member reads on from its own position, or again from the commit after a rebalance.
            const from = committed[action.partition]!;
            for (let i = 0n; i < BigInt(action.count); i++) member.read(action.partition, from + i);
          } else if (action.kind === 'done') {
            const { inFlight } = members[action.member]!;
            if (inFlight.length === 0) continue;
            const [finished] = inFlight.splice(action.pick % inFlight.length, 1);
            done[finished!.partition]!.add(finished!.offset);
            finished!.ledger.markDone(finished!.offset);
          } else {
            const member = members[action.member]!;
            for (const { partition, offset } of member.plan()) {
              expect(owners[partition] ? 1 : 0, 'commit of a lost partition').toBe(action.member);
              expect(offset > committed[partition]!, 'commit goes back').toBe(true);
              for (let o = committed[partition]!; o < offset; o++)
                expect(done[partition]!.has(o), `offset ${o} undone`).toBe(true);
              committed[partition] = offset;
              member.ledgers.get(`t:${partition}`)!.committed = offset;
            }
          }
        }
      }),
    );
  });
});
