import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ServingError } from '../../../../src/errors.ts';
import { findInputs } from '../../../../workers/files/inputs.ts';
import type { Outgoing } from '../../../../workers/files/message.ts';
import { type ProduceJob, produce } from '../../../../workers/produce/run.ts';
import { Sender } from '../../../../workers/produce/sender.ts';
import { lineProgress } from '../../../../workers/tool/progress.ts';

const outgoing = (name: string, bytes = 10): Outgoing => ({
  key: name,
  value: new Uint8Array(bytes),
  chunks: 1,
  origin: name,
});

/** A writer that acknowledges when told: a broker cannot be made to wait just so. */
function heldWriter() {
  const held: { names: string[]; done: (error?: Error) => void }[] = [];
  const write = (messages: readonly Outgoing[]) =>
    new Promise<void>((resolve, reject) => {
      held.push({
        names: messages.map(({ key }) => key),
        done: (error) => (error === undefined ? resolve() : reject(error)),
      });
    });
  return { held, write };
}

describe('Sender', () => {
  const limits = { maxBatchMessages: 2, maxBatchBytes: 100, maxBatchesInFlight: 2 };
  const watch = () => {
    const acknowledged: string[] = [];
    const refused: string[] = [];
    return {
      acknowledged,
      refused,
      onAcknowledged: (messages: readonly Outgoing[]) => void acknowledged.push(...messages.map(({ key }) => key)),
      onRefused: ({ key }: Outgoing) => void refused.push(key),
    };
  };

  it('waits while as many batches are in flight as allowed', async () => {
    const { held, write } = heldWriter();
    const sender = new Sender({ ...limits, write, ...watch() });
    for (const name of ['a', 'b', 'c']) await sender.add(outgoing(name));
    let went = false;
    const waiting = sender.add(outgoing('d')).then(() => (went = true));
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(went).toBe(false);
    expect(held.map(({ names }) => names)).toEqual([
      ['a', 'b'],
      ['c', 'd'],
    ]);
    held[0]?.done();
    await waiting;
    held[1]?.done();
    await sender.finish();
  });

  it('closes a batch before it gets too many bytes', async () => {
    const { held, write } = heldWriter();
    const sender = new Sender({ ...limits, write, ...watch() });
    await sender.add(outgoing('small', 30));
    await sender.add(outgoing('large', 90));
    expect(held.map(({ names }) => names)).toEqual([['small']]);
  });

  it('singles out the message that the broker finds too large (K12)', async () => {
    const seen = watch();
    const write = async (messages: readonly Outgoing[]) => {
      if (messages.some(({ key }) => key === 'large')) throw new ServingError('CHUNK_TOO_LARGE', 'too large');
    };
    const sender = new Sender({ ...limits, maxBatchMessages: 3, write, ...seen });
    for (const name of ['a', 'large', 'b']) await sender.add(outgoing(name));
    await sender.finish();
    expect(seen.acknowledged).toEqual(['a', 'b']);
    expect(seen.refused).toEqual(['large']);
  });

  it('stops at a broker that is away, and counts only what was acknowledged', async () => {
    const seen = watch();
    const { held, write } = heldWriter();
    const sender = new Sender({ ...limits, write, ...seen });
    for (const name of ['a', 'b', 'c']) await sender.add(outgoing(name));
    const finished = sender.finish();
    held[0]?.done(new ServingError('KAFKA_UNAVAILABLE', 'away'));
    held[1]?.done();
    await expect(finished).rejects.toThrow('away');
    expect(seen.acknowledged).toEqual(['c']);
    await expect(sender.add(outgoing('d'))).rejects.toThrow('away');
  });
});

describe('produce', () => {
  let dir = '';
  beforeAll(() => {
    dir = mkdtempSync(join(tmpdir(), 'rag-produce-run-'));
    const lines = Array.from({ length: 50 }, (_, index) =>
      JSON.stringify({ chunk_id: `c${index}`, text: `text ${index}` }),
    );
    lines[10] = '{"broken';
    lines[20] = '{"chunk_id":"x"}';
    writeFileSync(join(dir, 'lines.ndjson'), `${lines.join('\n')}\n`);
    writeFileSync(join(dir, 'prose.md'), `# Prose\n\n${'A sentence of the prose. '.repeat(60)}`);
    writeFileSync(join(dir, 'latin1.txt'), Buffer.from([0x63, 0x61, 0x66, 0xe9]));
  });
  afterAll(() => rmSync(dir, { recursive: true }));

  const job = async (paths: string[], more: Partial<ProduceJob> = {}): Promise<ProduceJob & { said: string[] }> => {
    const said: string[] = [];
    return {
      inputs: await findInputs(paths, dir, dir),
      targetTokens: 50,
      limit: Number.POSITIVE_INFINITY,
      write: async () => {},
      progress: lineProgress({ write: (text) => said.push(text.trimEnd()) }, 100, () => 0, {
        command: 'produce',
        arrived: 'acknowledged',
      }),
      now: () => performance.now(),
      said,
      ...more,
    };
  };
  const never = new AbortController().signal;

  it('sends what is good and tells what is bad, with its line', async () => {
    const work = await job(['latin1.txt', 'lines.ndjson']);
    const result = await produce(work, never);
    expect(result).toMatchObject({
      inputs: 2,
      messages: 48,
      chunks: 48,
      bad: 3,
      interrupted: false,
      failure: undefined,
    });
    expect(work.said).toEqual([
      'bad: latin1.txt: is no UTF-8 text',
      expect.stringMatching(/^bad: lines\.ndjson:11: line of 8 bytes is no JSON$/),
      expect.stringMatching(/^bad: lines\.ndjson:21: text/),
    ]);
  });

  it('cuts documents into chunks', async () => {
    const result = await produce(await job(['prose.md']), never);
    expect(result.documents).toBe(1);
    expect(result.chunks).toBeGreaterThan(5);
  });

  it('stops at the limit', async () => {
    const result = await produce(await job(['lines.ndjson'], { limit: 5 }), never);
    expect(result.chunks).toBe(5);
  });

  it('an interruption stops reading and still waits for what was sent', async () => {
    const stop = new AbortController();
    const sent: number[] = [];
    const work = await job(['lines.ndjson', 'prose.md'], {
      write: async (messages) => {
        await new Promise((resolve) => setTimeout(resolve, 10));
        sent.push(messages.length);
      },
    });
    const update = (): void => stop.abort();
    const result = await produce({ ...work, progress: { ...work.progress, update } }, stop.signal);
    expect(result.interrupted).toBe(true);
    expect(result.messages).toBe(sent.reduce((sum, count) => sum + count, 0));
    expect(result.messages).toBeLessThan(48);
  });

  it('a broker that is away ends it with the error and the true count', async () => {
    const away = new ServingError('KAFKA_UNAVAILABLE', 'away');
    const result = await produce(await job(['lines.ndjson'], { write: () => Promise.reject(away) }), never);
    expect(result).toMatchObject({ messages: 0, failure: away });
  });

  it('counts batches that are acknowledged after another one failed', async () => {
    const lines = Array.from({ length: 2_000 }, (_, index) => JSON.stringify({ chunk_id: `n${index}`, text: 'text' }));
    writeFileSync(join(dir, 'many.ndjson'), lines.join('\n'));
    let calls = 0;
    const write = async () => {
      const first = calls++ === 0;
      await new Promise((resolve) => setTimeout(resolve, first ? 20 : 120));
      if (first) throw new ServingError('KAFKA_UNAVAILABLE', 'away');
    };
    const result = await produce(await job(['many.ndjson'], { write }), never);
    expect(result).toMatchObject({ messages: 3 * 256, failure: { code: 'KAFKA_UNAVAILABLE' } });
  });
});
