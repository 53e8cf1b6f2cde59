import { describe, expect, it } from 'vitest';
import type { LogLevel } from '../../../src/config/setting.ts';
import type { Log } from '../../../src/telemetry/log.ts';
import { createLogger } from '../../../src/telemetry/logger.ts';

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
