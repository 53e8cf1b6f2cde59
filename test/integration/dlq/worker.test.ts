/** Dead letters that a real worker wrote, replayed once what was wrong is mended: stored, and never over what came since. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { useKafka } from '../../support/stack.ts';
import { expectExactlyStored, lancedbAt, storedIds } from '../worker/evidence.ts';
import { chunkMessage, type Env, endPrograms, eventually, startEngine, startWorker } from '../worker/harness.ts';
import { DlqWorld } from './dlq-world.ts';

const kafka = useKafka();
const REFUSING = ['--synthetic', '--fault', 'POISON=invalid-argument'];
let folder: string;
let world: DlqWorld;

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'rag-dlq-'));
  world = new DlqWorld(kafka().bootstrapServers);
  await world.topic.create(1);
});
afterEach(async () => {
  await endPrograms();
  await world.close();
  rmSync(folder, { recursive: true, force: true });
});

const envOf = (target: string): Env => ({
  ...world.env,
  RAG_SERVING_BATCH_INGEST_GRPC_URL: target,
  RAG_SERVING_SINK: 'lancedb',
  RAG_SERVING_LANCEDB_PATH: folder,
});
const chunk = (id: string, text: string) => ({ chunkId: id, documentId: `doc-${id}`, text });
const letters = async () => (await world.run(['dlq', 'stats', '--json'])).lines[0]?.letters;

describe('dead letters of a real worker', () => {
  it('are replayed and stored; older ones replace nothing newer and bring back nothing that was deleted', async () => {
    const engine = await startEngine(REFUSING);
    const worker = await startWorker(envOf(engine.target));
    const [mended, updated, removed] = [
      chunk('mended', 'POISON 1'),
      chunk('updated', 'POISON 2'),
      chunk('removed', 'POISON 3'),
    ];
    const good = chunk('good', 'good');
    await world.topic.send([mended, updated, removed, good].map((one) => chunkMessage(one)));
    await world.topic.untilLagZero();
    await eventually('three letters', async () => (await letters()) === 3);
    const newer = chunk('updated', 'newer text');
    await world.topic.send([
      chunkMessage(newer),
      { key: removed.documentId, value: null, headers: [['rag-scope', Buffer.from('document')]] },
    ]);
    await world.topic.untilLagZero();
    await engine.program.kill();
    await startEngine(['--synthetic'], engine.grpcPort);
    const { code, output } = await world.run(['dlq', 'replay', '--yes']);
    expect(code, output).toBe(0);
    const choice = lancedbAt(folder);
    await eventually('the mended one is stored', async () => (await storedIds(choice, [mended])).size === 1, 60_000);
    await eventually(
      'all three have ended',
      async () => (await worker.metric('rag_serving_chunks_total')) === 9,
      60_000,
    );
    await expectExactlyStored(choice, [mended, newer, good]);
    expect((await worker.stop()).code).toBe(0);
  });

  it('that come back count their replays, and are left at --max-replays', async () => {
    const engine = await startEngine(REFUSING);
    const worker = await startWorker(envOf(engine.target));
    const batch = {
      document_id: 'd',
      chunks: [
        { chunk_id: 'a', text: 'good' },
        { chunk_id: 'b', text: 'POISON' },
      ],
    };
    await world.topic.send([{ key: 'd', value: JSON.stringify(batch) }]);
    for (const round of [1, 2]) {
      await eventually(`${round} letters`, async () => (await letters()) === round, 60_000);
      const { lines, output } = await world.run(['dlq', 'replay', '--yes', '--json', '--max-replays', '2']);
      expect(lines.at(-1), output).toMatchObject({ replayed: 1, already: round - 1 });
    }
    await eventually('3 letters', async () => (await letters()) === 3, 60_000);
    const refused = await world.run(['dlq', 'replay', '--yes', '--json', '--max-replays', '2']);
    expect(refused.code).toBe(1);
    expect(refused.lines.at(-1)).toMatchObject({ replayed: 0, already: 2, refused: { 'too-often': 1 } });
    const listed = await world.run(['dlq', 'list', '--json', '--pending']);
    expect(listed.lines).toMatchObject([
      { replays: 2, chunkId: 'b', index: 0, origin: expect.stringMatching(/\/0\/\d+$/) },
    ]);
    // The good half of the message was stored once, and only the bad chunk went round.
    expect(await worker.metric('rag_serving_chunks_total', 'outcome="persisted"')).toBe(1);
    expect((await worker.stop()).code).toBe(0);
  });
});
