/** `rag-serving dlq` against a real broker: what it lists, shows, counts, replays and purges, and what it refuses. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { killAllPrograms } from '../../../scripts/stack/program.ts';
import { ServingError } from '../../../src/errors.ts';
import { useKafka } from '../../support/stack.ts';
import { chunkIdOf, DlqWorld, headerOf } from './dlq-world.ts';

const kafka = useKafka();
let world: DlqWorld;

beforeEach(async () => {
  world = new DlqWorld(kafka().bootstrapServers);
  await world.topic.create(2);
});
afterEach(async () => {
  await killAllPrograms();
  await world.close();
});

const invalid = new ServingError('CHUNK_INVALID', 'chunk_id: expected a string');

describe('rag-serving dlq list', () => {
  it('lists every letter with why and where from, and no text', async () => {
    await world.write([
      world.letter(1),
      world.letter(2, { error: invalid, stage: 'decode', attempts: 1 }),
      world.letter(3),
    ]);
    const { code, output } = await world.run(['dlq', 'list']);
    expect(code, output).toBe(0);
    expect(output).toMatch(/^LETTER +AGE +CODE/m);
    expect(output).toMatch(new RegExp(`^0:1 .*CHUNK_INVALID +decode +1 +${world.topic.topic}/0/2 +c2 +0 +-$`, 'm'));
    expect(output).toContain('3 dead letters');
    expect(output).not.toContain('SENTINEL');
  });

  it('filters by code, document, offset and time, and as JSON gives one object a line', async () => {
    await world.write([0, 1, 2, 3, 4, 5, 6].map((n) => world.letter(n, n % 2 === 0 ? {} : { error: invalid })));
    const listed = async (...args: string[]) => {
      const { code, lines, output } = await world.run(['dlq', 'list', '--json', ...args]);
      expect(code, output).toBe(0);
      return lines.map(({ chunkId }) => chunkId);
    };
    expect(await listed('--code', 'chunk_invalid')).toEqual(['c1', 'c3', 'c5']);
    expect(await listed('--document', 'doc-1', '--document', 'doc-2')).toEqual(['c1', 'c2', 'c6']);
    expect(await listed('--offset', '2..3')).toEqual(['c2', 'c3']);
    expect(await listed('--since', '1h', '--limit', '2')).toEqual(['c0', 'c1']);
    expect(await listed('--until', '1h')).toEqual([]);
    expect(await listed('--partition', '7')).toEqual([]);
  });

  it('an empty topic lists nothing; a missing one is an error that names it', async () => {
    const missing = await world.run(['dlq', 'list']);
    expect(missing.code).toBe(1);
    expect(missing.output).toMatch(new RegExp(`KAFKA_TOPIC_UNKNOWN: dead-letter topic ${world.dlq} does not exist`));
    await world.topic.admin.ensureTopic(world.dlq, { partitions: 3 });
    const empty = await world.run(['dlq', 'list']);
    expect(empty).toMatchObject({ code: 0 });
    expect(empty.output).toContain('0 dead letters');
  });
});

describe('rag-serving dlq show', () => {
  it('tells the shape of the message, and the message itself only when asked', async () => {
    await world.write([world.letter(4)]);
    const hidden = await world.run(['dlq', 'show', '0:0']);
    expect(hidden.code, hidden.output).toBe(0);
    expect(hidden.output).toMatch(/value +\d+ bytes, JSON: chunk_id a string of 2 bytes; .*text a string of 15 bytes/);
    expect(hidden.output).toMatch(/header mine +?15 bytes/);
    expect(hidden.output).not.toContain('SENTINEL');
    const shown = await world.run(['dlq', 'show', '0:0', '--show-text', '--json']);
    expect(shown.lines[0]).toMatchObject({ key: 'doc-4', chunkId: 'c4' });
    expect(shown.output).toContain('SENTINEL text 4');
    expect(shown.output).toContain('SENTINEL header');
  });

  it('a place where nothing is says what is there', async () => {
    await world.write([world.letter(4)]);
    const { code, output } = await world.run(['dlq', 'show', '0:9']);
    expect(code).toBe(2);
    expect(output).toContain('no dead letter at 0:9');
    expect(output).toContain('it holds 0 to 0');
  });
});

describe('rag-serving dlq replay', () => {
  it('sends letters back as they were, once; a second run and stats know', async () => {
    await world.write([world.letter(1), world.letter(2), world.letter(3, { error: invalid })]);
    const first = await world.run(['dlq', 'replay', '--code', 'INFERENCE_REJECTED', '--yes', '--json']);
    expect(first.code, first.output).toBe(0);
    expect(first.lines.at(-1)).toMatchObject({ event: 'replay', chosen: 2, replayed: 2, already: 0 });
    const again = await world.run(['dlq', 'replay', '--yes', '--json']);
    expect(again.lines.at(-1)).toMatchObject({ chosen: 3, replayed: 1, already: 2 });
    const sent = await world.committed();
    expect(sent.map(chunkIdOf)).toEqual(['c1', 'c2', 'c3']);
    expect(sent[0]).toMatchObject({ key: Buffer.from('doc-1'), source: { partition: 0 } });
    expect(sent[0]?.headers.map(([name]) => name)).toEqual([
      'mine',
      'rag-replay-count',
      'rag-replay-origin',
      'rag-replay-letter',
      'rag-replay-at',
    ]);
    expect(headerOf(sent[0]!, 'rag-replay-origin')).toBe(`${world.topic.topic}/0/1`);
    const stats = await world.run(['dlq', 'stats', '--json']);
    expect(stats.lines[0]).toMatchObject({ letters: 3, pending: 0, replayed: 3 });
    expect((await world.run(['dlq', 'list', '--pending', '--json'])).lines).toEqual([]);
  });

  it('a dry run sends nothing and says what would be sent', async () => {
    await world.write([world.letter(1), world.letter(2)]);
    const dry = await world.run(['dlq', 'replay', '--dry-run']);
    expect(dry.code, dry.output).toBe(0);
    expect(dry.output).toContain(`would replay 2 dead letters: 2 to ${world.topic.topic}`);
    expect(await world.committed()).toEqual([]);
  });

  it('without --yes and with nobody to ask it refuses', async () => {
    const { code, output } = await world.run(['dlq', 'replay']);
    expect(code).toBe(2);
    expect(output).toMatch(/add --yes, or --dry-run/);
  });

  it('of a batch message sends the chunk that failed, and leaves what is cut or came back too often', async () => {
    const batch = JSON.stringify({
      document_id: 'd',
      chunks: [
        { chunk_id: 'a', text: 'x' },
        { chunk_id: 'b', text: 'y' },
      ],
    });
    const often = world.letter(3);
    await world.write([
      world.letter(1, { index: 1 }, batch),
      world.letter(2, { index: 9 }, batch),
      { ...often, raw: { ...often.raw, headers: [['rag-replay-count', Buffer.from('3')]] } },
    ]);
    const { code, lines, output } = await world.run(['dlq', 'replay', '--yes', '--json']);
    expect(code, output).toBe(1);
    expect(lines.at(-1)).toMatchObject({ replayed: 1, refused: { 'no-chunk': 1, 'too-often': 1 } });
    const [sent] = await world.committed();
    expect(JSON.parse(String(sent?.value))).toEqual({ document_id: 'd', chunks: [{ chunk_id: 'b', text: 'y' }] });
    const more = await world.run(['dlq', 'replay', '--yes', '--json', '--max-replays', '4']);
    expect(more.lines.at(-1)).toMatchObject({ replayed: 1, already: 1 });
    expect(headerOf((await world.committed())[1]!, 'rag-replay-count')).toBe('4');
  });

  it('a letter that the topic does not take holds no other back', async () => {
    const small = `${world.topic.topic}.small`;
    await world.topic.admin.ensureTopic(small, { partitions: 1, configEntries: { 'max.message.bytes': '3000' } });
    const long = JSON.stringify({ chunk_id: 'long', text: 'x'.repeat(5_000) });
    await world.write([world.letter(1), world.letter(2, {}, long), world.letter(3)]);
    const { code, lines, output } = await world.run(['dlq', 'replay', '--yes', '--json', '--to-topic', small]);
    expect(code, output).toBe(1);
    expect(lines.at(-1), output).toMatchObject({ replayed: 2, refused: { 'too-large': 1 } });
    expect((await world.committed(small)).map(chunkIdOf)).toEqual(['c1', 'c3']);
  });

  it('a topic that is gone is named, and nothing is marked', async () => {
    await world.write([world.letter(1)]);
    const gone = await world.run(['dlq', 'replay', '--yes', '--to-topic', 'not-there']);
    expect(gone.code).toBe(1);
    expect(gone.output).toMatch(/KAFKA_TOPIC_UNKNOWN: topic not-there/);
    expect((await world.run(['dlq', 'replay', '--yes', '--json'])).lines.at(-1)).toMatchObject({ replayed: 1 });
  });
});

describe('rag-serving dlq purge', () => {
  it('deletes the beginning that was chosen, and refuses what Kafka cannot do', async () => {
    await world.write([0, 1, 2, 3, 4].map((n) => world.letter(n)));
    const refused = await world.run(['dlq', 'purge', '--code', 'CHUNK_INVALID', '--yes']);
    expect(refused.code).toBe(2);
    expect(refused.output).toMatch(/--code cannot choose what is purged/);
    const dry = await world.run(['dlq', 'purge', '--offset', '..1', '--dry-run']);
    expect(dry.output).toContain('would delete 2 dead letters');
    const some = await world.run(['dlq', 'purge', '--offset', '..1', '--yes', '--json']);
    expect(some.lines.at(-1)).toMatchObject({ letters: 2, neverReplayed: 2, before: { 0: '2' } });
    expect((await world.run(['dlq', 'stats', '--json'])).lines[0]).toMatchObject({ letters: 3 });
    await world.run(['dlq', 'replay', '--offset', '2..3', '--yes']);
    expect((await world.run(['dlq', 'purge', '--replayed', '--yes'])).output).toContain('deleted 2 dead letters');
    expect((await world.run(['dlq', 'list', '--json'])).lines).toMatchObject([{ offset: '4' }]);
    expect((await world.run(['dlq', 'purge', '--all', '--yes'])).code).toBe(0);
    expect((await world.run(['dlq', 'list', '--json'])).lines).toEqual([]);
  });
});
