/** What is decided around a transaction that failed. The producer and the group are scripted: no broker fails at will. */
import { expect, it } from 'vitest';
import { ServingError } from '../../../src/errors.ts';
import { PartitionTransactions } from '../../../src/kafka/partition-transactions.ts';
import type { OutgoingMessage } from '../../../src/kafka/producer.ts';
import type { Commit } from '../../../src/offsets/commit-plan.ts';
import type { BrokerOffset } from '../../../src/offsets/opening.ts';

const ID = { topic: 't', partition: 0 };
const commit = (offset: bigint): Commit => ({ ...ID, epoch: 1, offset, metadata: '' });
const away = () => new ServingError('KAFKA_UNAVAILABLE', 'no answer');
const fenced = () => new ServingError('KAFKA_TRANSACTION_FENCED', 'taken over');

function world() {
  const state = {
    held: { offset: 0n, metadata: '' } as BrokerOffset,
    isMember: true,
    /** What the next writes do. */
    script: [] as ((offset: bigint) => void)[],
    opened: 0,
    sent: [] as bigint[],
    written: [] as bigint[],
    fenced: 0,
  };
  const transactions = new PartitionTransactions({
    groupId: 'g',
    records: {
      isFull: false,
      covered: (): readonly OutgoingMessage[] => [],
      written: ({ offset }) => state.written.push(offset),
      forget: () => undefined,
    },
    createProducer: () => ({
      open: async () => void (state.opened += 1),
      write: async (_, { offset }) => {
        state.sent.push(offset);
        state.script.shift()?.(offset);
        state.held = { offset, metadata: '' };
      },
      close: async () => undefined,
    }),
  });
  transactions.attach({
    epochInFlight: () => 1,
    isMember: async () => state.isMember,
    held: async () => state.held,
    onFenced: () => void (state.fenced += 1),
  });
  return { state, transactions };
}

it('a commit that failed and was carried out all the same is not sent again', async () => {
  const { state, transactions } = world();
  await transactions.claim(ID);
  state.script = [
    (offset) => {
      state.held = { offset, metadata: '' };
      throw away();
    },
  ];
  await expect(transactions.commit([commit(5n)])).rejects.toMatchObject({ code: 'KAFKA_UNAVAILABLE' });
  expect(state.written).toEqual([]);
  await transactions.commit([commit(5n)]);
  expect([state.sent, state.written, state.opened]).toEqual([[5n], [5n], 2]);
});

it('a commit that failed and was undone is sent again', async () => {
  const { state, transactions } = world();
  await transactions.claim(ID);
  state.script = [
    () => {
      throw away();
    },
  ];
  await expect(transactions.commit([commit(5n)])).rejects.toMatchObject({ failureClass: 'outage' });
  await transactions.commit([commit(6n)]);
  expect([state.sent, state.written]).toEqual([[5n, 6n], [6n]]);
});

it('after a failure nothing is sent by one who may not be a member any more', async () => {
  const { state, transactions } = world();
  await transactions.claim(ID);
  state.script = [
    () => {
      throw away();
    },
  ];
  await expect(transactions.commit([commit(5n)])).rejects.toThrow();
  state.isMember = false;
  await expect(transactions.commit([commit(5n)])).rejects.toMatchObject({ failureClass: 'outage' });
  expect(state.sent).toEqual([5n]);
});

it('an offset that nobody here has committed means that somebody else was here', async () => {
  const { state, transactions } = world();
  await transactions.claim(ID);
  state.script = [
    () => {
      state.held = { offset: 40n, metadata: '' };
      throw away();
    },
  ];
  await expect(transactions.commit([commit(5n)])).rejects.toThrow();
  await expect(transactions.commit([commit(5n)])).rejects.toMatchObject({ failureClass: 'outage' });
  expect([state.sent, state.fenced, state.written]).toEqual([[5n], 1, []]);
});

it('to be shut out is an outage that the source is told of, never a fault of a chunk', async () => {
  const { state, transactions } = world();
  await transactions.claim(ID);
  state.script = [
    () => {
      throw fenced();
    },
  ];
  await expect(transactions.commit([commit(5n)])).rejects.toMatchObject({ code: 'KAFKA_UNAVAILABLE' });
  expect(state.fenced).toBe(1);
});

it('commits of one partition wait for each other, and one that was overtaken is not sent', async () => {
  const { state, transactions } = world();
  await transactions.claim(ID);
  await Promise.all([
    transactions.commit([commit(5n)]),
    transactions.commit([commit(5n)]),
    transactions.commit([commit(4n)]),
  ]);
  expect(state.sent).toEqual([5n]);
});

it('a partition that has left is not committed', async () => {
  const { state, transactions } = world();
  await transactions.claim(ID);
  transactions.release([ID]);
  await expect(transactions.commit([commit(5n)])).rejects.toMatchObject({ failureClass: 'outage' });
  expect(state.sent).toEqual([]);
});
