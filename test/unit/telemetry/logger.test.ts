import { describe, expect, it } from 'vitest';
import type { LogLevel } from '../../../src/config/setting.ts';
import type { Log } from '../../../src/telemetry/log.ts';
import { createLogger } from '../../../src/telemetry/logger.ts';
import { levelAfterSignal } from '../../../workers/log-level-signal.ts';

function logging(level: LogLevel = 'INFO', secrets: readonly string[] = []) {
  const lines: string[] = [];
  const log = createLogger({
    level,
    service: 'rag-serving',
    pool: 'batch_ingestion',
    worker: 'w-1',
    secrets,
    stream: { write: (line) => void lines.push(line) },
  });
  return { log, lines, records: () => lines.map((line) => JSON.parse(line) as Record<string, unknown>) };
}

describe('createLogger', () => {
  it('writes one JSON line with who, when, how bad and what', () => {
    const { log, lines, records } = logging();
    log.warn('commit rejected', { partition: 3, offset: 12n });
    expect(lines).toHaveLength(1);
    expect(records()[0]).toMatchObject({
      level: 'WARNING',
      service: 'rag-serving',
      pool: 'batch_ingestion',
      worker: 'w-1',
      msg: 'commit rejected',
      partition: 3,
      offset: '12',
    });
    expect(records()[0]?.time).toMatch(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/);
  });

  const order = ['DEBUG', 'INFO', 'WARNING', 'ERROR'] as const;
  for (const [index, level] of order.entries()) {
    it(`at ${level} writes ${order.slice(index).join(', ')}`, () => {
      const { log, records } = logging(level);
      log.debug('d');
      log.info('i');
      log.warn('w');
      log.error('e');
      expect(records().map((record) => record.level)).toEqual(order.slice(index));
    });
  }

  it('children carry their bindings, redacted', () => {
    const { log, records, lines } = logging();
    log.child({ partition: 1, password: 'pw-SENTINEL' }).child({ stage: 'embed' }).info('ok');
    expect(records()[0]).toMatchObject({ partition: 1, stage: 'embed', password: '[redacted]' });
    expect(lines.join()).not.toContain('SENTINEL');
  });

  it('a field cannot take the place of a part of the line', () => {
    const { log, records, lines } = logging();
    log.info('real', { msg: 'fake', level: 'ERROR', time: 1, worker: 'x', pid: 7 });
    expect(records()[0]).toMatchObject({
      msg: 'real',
      level: 'INFO',
      worker: 'w-1',
      msg_: 'fake',
      level_: 'ERROR',
      pid: 7,
    });
    expect(lines[0]?.match(/"msg":/g)).toHaveLength(1);
  });

  it('a line break in message or field stays inside the line', () => {
    const { log, lines } = logging();
    log.info('a\nb', { topic: 'x\n{"level":"ERROR"}' });
    expect(lines.join('').trimEnd().split('\n')).toHaveLength(1);
  });

  it('known secrets are masked in messages too', () => {
    const { log, lines } = logging('INFO', ['hunter2hunter2']);
    log.error('login hunter2hunter2 failed', { error: new Error('hunter2hunter2') });
    expect(lines.join()).not.toContain('hunter2');
  });

  it('a stream that throws does not reach the caller', () => {
    const log: Log = createLogger({
      level: 'INFO',
      service: 's',
      stream: {
        write: () => {
          throw new Error('EPIPE');
        },
      },
    });
    expect(() => log.info('x')).not.toThrow();
  });
});

describe('event codes in lines', () => {
  it('every line has one; a field of that name is kept', () => {
    const { log, records } = logging();
    log.info('partitions assigned', { gained: [1] });
    log.info('other words', { event: 'engine ready' });
    expect(records().map(({ event }) => event)).toEqual(['partitions-assigned', 'engine ready']);
  });

  it('are made of the redacted message', () => {
    const { log, lines } = logging('INFO', ['hunter2hunter2']);
    log.info('login hunter2hunter2 failed');
    expect(lines.join()).not.toContain('hunter2');
  });
});

describe('the level', () => {
  it('can be changed under a logger and children that are in use', () => {
    const { log, records } = logging('ERROR');
    const child = log.child({ topic: 't' }).child({ partition: 1 });
    child.info('not seen');
    log.setLevel('DEBUG');
    child.debug('seen');
    log.setLevel('WARNING');
    child.info('not seen either');
    child.warn('seen too');
    expect(records().map(({ msg }) => msg)).toEqual(['seen', 'seen too']);
  });

  for (const [started, after] of [
    ['INFO', ['DEBUG', 'INFO', 'DEBUG']],
    ['ERROR', ['DEBUG', 'ERROR', 'DEBUG']],
    ['DEBUG', ['INFO', 'DEBUG', 'INFO']],
  ] as const) {
    it(`${started}, after one, two and three signals: ${after.join(', ')}`, () => {
      let level: LogLevel = started;
      expect(after.map(() => (level = levelAfterSignal(level, started)))).toEqual(after);
    });
  }
});

describe('repeats', () => {
  function timed(level: LogLevel = 'INFO') {
    const lines: string[] = [];
    const clock = { ms: 0 };
    const log = createLogger({
      level,
      service: 's',
      stream: { write: (line) => void lines.push(line) },
      nowMs: () => clock.ms,
    });
    return { log, clock, records: () => lines.map((line) => JSON.parse(line) as Record<string, unknown>) };
  }

  it('of a warning are summed up: the first at once, then the newest with how many there were', () => {
    const { log, clock, records } = timed();
    for (let attempt = 1; attempt <= 50; attempt++) log.warn('attempt failed', { stage: 'embed', attempt });
    log.warn('attempt failed', { stage: 'persist', attempt: 1 });
    clock.ms = 10_001;
    log.warn('attempt failed', { stage: 'embed', attempt: 51 });
    log.flush();
    expect(records().map(({ stage, attempt, repeated }) => [stage, attempt, repeated])).toEqual([
      ['embed', 1, undefined],
      ['persist', 1, undefined],
      ['embed', 50, 49],
      ['embed', 51, 1],
    ]);
  });

  it('lines of INFO are all written, and at DEBUG everything', () => {
    const info = timed();
    for (let i = 0; i < 5; i++) info.log.info('drain step', { step: 'a' });
    expect(info.records()).toHaveLength(5);
    const debug = timed('DEBUG');
    for (let i = 0; i < 5; i++) debug.log.warn('w');
    expect(debug.records()).toHaveLength(5);
  });

  it('of one partition do not hide those of another, nor those of another child', () => {
    const { log, records } = timed();
    for (const partition of [0, 1]) log.warn('partition waits', { partition });
    for (const topic of ['a', 'b']) log.child({ topic }).warn('partition waits', { partition: 0 });
    expect(records()).toHaveLength(4);
  });

  it('a log that is not used leaves no listener and no timer behind', () => {
    const before = process.listenerCount('exit');
    const { log } = timed();
    log.warn('w');
    log.warn('w');
    expect(process.listenerCount('exit')).toBe(before + 1);
    log.flush();
    expect(process.listenerCount('exit')).toBe(before);
  });
});
