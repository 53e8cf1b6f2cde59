import { describe, expect, it } from 'vitest';
import { BreakerBoard } from '../../../src/ops/breaker-board.ts';
import { IngestTally, rateSeconds } from '../../../src/ops/ingest-tally.ts';
import { historyPoints, lastDeadLetters } from '../../../src/ops/status-schema.ts';

const START = 1_900_000_000_000;

describe('IngestTally', () => {
  it('counts each outcome by itself', () => {
    const tally = new IngestTally();
    for (const outcome of ['persisted', 'persisted', 'dead-lettered', 'abandoned'] as const)
      tally.settled(outcome, START);
    expect(tally.read(START).chunks).toEqual({
      persisted: 2,
      deleted: 0,
      superseded: 0,
      'handed-over': 0,
      'dead-lettered': 1,
      abandoned: 1,
    });
  });

  it('the rate is that of whole seconds that are over, and falls to zero when nothing comes', () => {
    const tally = new IngestTally();
    for (let second = 0; second < 30; second++) {
      for (let i = 0; i < 7; i++) tally.settled('persisted', START + second * 1_000 + i);
    }
    const last = START + 29_000;
    expect(tally.chunksPerSecond(last + 1_000)).toBe(7);
    expect(tally.chunksPerSecond(last)).toBe(7);
    expect(tally.chunksPerSecond(last + 500)).toBe(7);
    expect(tally.chunksPerSecond(last + (rateSeconds / 2 + 1) * 1_000)).toBe(3.5);
    expect(tally.chunksPerSecond(last + (rateSeconds + 1) * 1_000)).toBe(0);
  });

  it('only what is stored counts for the rate', () => {
    const tally = new IngestTally();
    tally.settled('dead-lettered', START);
    expect(tally.chunksPerSecond(START + 1_000)).toBe(0);
  });

  it('keeps the last dead letters, newest first, and counts all of them by code', () => {
    const tally = new IngestTally();
    for (let i = 0; i < lastDeadLetters + 5; i++) {
      tally.deadLettered(i % 2 === 0 ? 'CHUNK_INVALID' : 'CHUNK_BLANK', 'decode', START + i);
    }
    const { deadLetters } = tally.read(START);
    expect(deadLetters.total).toBe(lastDeadLetters + 5);
    expect(deadLetters.byCode).toEqual([
      { code: 'CHUNK_INVALID', count: 13 },
      { code: 'CHUNK_BLANK', count: 12 },
    ]);
    expect(deadLetters.last).toHaveLength(lastDeadLetters);
    expect(deadLetters.last[0]?.at).toBe(new Date(START + lastDeadLetters + 4).toISOString());
  });

  it('keeps as much history as it says, the oldest first', () => {
    const tally = new IngestTally();
    for (let i = 0; i < historyPoints + 3; i++) tally.remember(i === historyPoints + 2 ? null : i, START + i);
    const { history } = tally.read(START);
    expect(history).toHaveLength(historyPoints);
    expect(history[0]?.lag).toBe(3);
    expect(history.at(-1)?.lag).toBeNull();
  });
});

describe('BreakerBoard', () => {
  it('keeps the last state of each endpoint, and not more endpoints than it is meant for', () => {
    const board = new BreakerBoard();
    board.set('a:1', 'open', START);
    board.set('a:1', 'half-open', START + 5);
    for (let i = 0; i < 200; i++) board.set(`b:${i}`, 'open', START);
    const states = board.read();
    expect(states[0]).toEqual({ endpoint: 'a:1', state: 'half-open', since: new Date(START + 5).toISOString() });
    expect(states.length).toBe(64);
  });
});
