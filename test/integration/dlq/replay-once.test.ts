/** Each dead letter is replayed exactly once for readers of committed records: over kills, rivals, and what a kill left open. */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { killAllPrograms, type Program } from '../../../scripts/stack/program.ts';
import { useKafka } from '../../support/stack.ts';
import { eventually } from '../worker/harness.ts';
import { chunkIdOf, DlqWorld, endOf } from './dlq-world.ts';

const kafka = useKafka();
const KILLS = 20;
const LETTERS = 400;
let world: DlqWorld;

beforeEach(async () => {
  world = new DlqWorld(kafka().bootstrapServers);
  await world.topic.create(1);
});
afterEach(async () => {
  await killAllPrograms();
  await world.close();
});

const letters = (count: number) => Array.from({ length: count }, (_, n) => world.letter(n));
const idsOf = (count: number) => Array.from({ length: count }, (_, n) => `c${n}`);

/** Everything that was written to the topic, also what was undone or is open. */
async function written(): Promise<number> {
  const admin = world.topic.client.kafka.admin();
  await admin.connect();
  const [end] = await admin.fetchTopicOffsets(world.topic.topic);
  await admin.disconnect();
  return Number(end?.high ?? 0);
}

async function killOnceItWrites(program: Program, moreMs: number): Promise<boolean> {
  const before = await written();
  await eventually('it writes, or has ended', async () => !program.running || (await written()) > before, 60_000, 5);
  await sleep(moreMs);
  const killed = program.running;
  await program.kill();
  return killed;
}

describe('a replay', () => {
  it(`that is killed ${KILLS} times replays every letter once, in order`, async () => {
    await world.write(letters(LETTERS));
    let kills = 0;
    for (let round = 0; round < KILLS; round++) {
      // Small transactions, one after the other, so that each kill finds another point in one.
      const program = world.start(['dlq', 'replay', '--yes', '--rate', '50']);
      if (await killOnceItWrites(program, (round * 37) % 400)) kills++;
    }
    const last = await world.run(['dlq', 'replay', '--yes', '--json']);
    expect(last.code, last.output).toBe(0);
    expect(kills).toBeGreaterThan(KILLS / 2);
    expect((await world.committed()).map(chunkIdOf)).toEqual(idsOf(LETTERS));
    const none = await world.run(['dlq', 'replay', '--yes', '--json']);
    expect(none.lines.at(-1)).toMatchObject({ chosen: LETTERS, replayed: 0, already: LETTERS });
  }, 300_000);

  it('undoes what a killed one had written and not committed, at once', async () => {
    await world.write(letters(3));
    const { client, topic } = world.topic;
    const producer = client.kafka.producer({
      transactionalId: `rag-serving.redrive.${world.dlq}`,
      idempotent: true,
      maxInFlightRequests: 1,
      transactionTimeout: 600_000,
    });
    await producer.connect();
    const transaction = await producer.transaction();
    await transaction.send({ topic, messages: [{ key: 'doc-0', value: JSON.stringify({ chunk_id: 'c0' }) }] });
    const { code, output } = await world.run(['dlq', 'replay', '--yes']);
    expect(code, output).toBe(0);
    expect((await world.committed()).map(chunkIdOf)).toEqual(idsOf(3));
    await expect(transaction.commit()).rejects.toThrow();
    await producer.disconnect();
  });

  it('is ended by another one of the same topic, which does the rest', async () => {
    await world.write(letters(LETTERS));
    const first = world.start(['dlq', 'replay', '--yes', '--rate', '50']);
    await eventually('the first replays', async () => (await written()) > 0);
    const second = await world.run(['dlq', 'replay', '--yes']);
    expect(second.code, second.output).toBe(0);
    const ended = await endOf(first);
    expect(ended.code).toBe(1);
    expect(ended.output).toMatch(/KAFKA_TRANSACTION_FENCED: .*another process has taken rag-serving\.redrive/);
    expect((await world.committed()).map(chunkIdOf)).toEqual(idsOf(LETTERS));
  });

  it('that is interrupted says so and leaves the rest for the next', async () => {
    await world.write(letters(LETTERS));
    const program = world.start(['dlq', 'replay', '--yes', '--rate', '50', '--json']);
    await eventually('it replays', async () => (await written()) > 0);
    const { code } = await program.stop('SIGINT');
    expect(code, program.output).toBe(3);
    const told = Number(program.lines.at(-1)?.replayed);
    expect(told).toBeLessThan(LETTERS);
    expect(await world.committed()).toHaveLength(told);
    const rest = await world.run(['dlq', 'replay', '--yes', '--json']);
    expect(rest.lines.at(-1)).toMatchObject({ replayed: LETTERS - told, already: told });
  });

  it('of a topic that was deleted and made again knows the new letters as new', async () => {
    await world.write(letters(2));
    await world.run(['dlq', 'replay', '--yes']);
    const admin = world.topic.client.kafka.admin();
    await admin.connect();
    await admin.deleteTopics({ topics: [world.dlq] });
    await admin.disconnect();
    await eventually('it is gone', async () => !(await world.topic.admin.topicExists(world.dlq)));
    await world.write([world.letter(7), world.letter(8)]);
    const { lines } = await world.run(['dlq', 'replay', '--yes', '--json']);
    expect(lines.at(-1)).toMatchObject({ replayed: 2, already: 0 });
    expect((await world.committed()).map(chunkIdOf)).toEqual(['c0', 'c1', 'c7', 'c8']);
  });
});

describe('10,000 letters', () => {
  it('are counted, listed, replayed and purged', async () => {
    await world.write(letters(10_000));
    expect((await world.run(['dlq', 'stats', '--json'])).lines[0]).toMatchObject({ letters: 10_000, pending: 10_000 });
    const listed = await world.run(['dlq', 'list', '--json', '--code', 'INFERENCE_REJECTED']);
    expect(new Set(listed.lines.map(({ chunkId }) => chunkId)).size).toBe(10_000);
    const replayed = await world.run(['dlq', 'replay', '--yes', '--json']);
    expect(replayed.lines.at(-1), replayed.output.slice(-2_000)).toMatchObject({ replayed: 10_000 });
    expect((await world.committed()).map(chunkIdOf)).toEqual(idsOf(10_000));
    const purged = await world.run(['dlq', 'purge', '--replayed', '--yes', '--json']);
    expect(purged.lines.at(-1)).toMatchObject({ letters: 10_000, neverReplayed: 0 });
    expect((await world.run(['dlq', 'stats', '--json'])).lines[0]).toMatchObject({ letters: 0 });
  }, 180_000);
});
