/** What the screen shows where there is room, and where there is not. */
import { describe, expect, it } from 'vitest';
import { reportJson } from '../../../../workers/status/json.ts';
import { UNLIMITED } from '../../../../workers/status/layout.ts';
import { type StatusReport, somethingIsAway } from '../../../../workers/status/report.ts';
import type { Reading } from '../../../../workers/status/source.ts';
import { reportLines } from '../../../../workers/status/view.ts';
import { paint } from '../../../../workers/tool/terminal.ts';

const AT = Date.UTC(2026, 2, 1, 9, 30, 0);
const known = <T>(value: T): Reading<T> => ({ kind: 'known', value, atMs: AT });
const away = { kind: 'away', code: 'KAFKA_UNAVAILABLE', reason: 'cannot list topics: ECONNREFUSED', atMs: AT } as const;

const position = (partition: number, lag: number) => ({
  partition,
  low: 0n,
  committed: 1_000n,
  end: 1_000n + BigInt(lag),
  lag: BigInt(lag),
  doneBeyond: 0n,
});

const worker = {
  worker: 'ingest-0',
  program: 'worker',
  version: '0.1.0',
  phase: 'running',
  ready: false,
  checks: [{ name: 'engine', ok: false, reason: 'breaker open' }],
  modelServer: {
    models: [{ name: 'm', state: 'ready', fingerprint: 'f' }],
    breakers: [{ endpoint: 'e:1', state: 'open' }],
  },
  ingest: {
    chunksPerSecond: 12.54,
    inFlight: { chunks: 256 },
    paused: ['sink'],
    transport: 'shared_memory',
    slots: { free: 1, leased: 2, quarantined: 1 },
    deadLetters: { total: 0 },
  },
};

function report(more: Partial<StatusReport> = {}): StatusReport {
  return {
    atMs: AT,
    group: 'g',
    topic: 't',
    deadLetterTopic: 't.dlq',
    modelName: 'm',
    offsets: known([position(0, 900), position(1, 100)]),
    members: known({
      state: 'Stable',
      members: [{ clientId: 'ingest-0', host: '/10.0.0.1', partitions: new Map([['t', [1, 0]]]) }],
    }),
    flow: { committedPerSecond: 50, arrivedPerSecond: 0, overMs: 3_000 },
    retries: known({ delayed: 3, waiting: 0, active: 1 }),
    deadLetters: known({ exists: true, count: 5n }),
    lastLetter: known({ code: 'CHUNK_BLANK', stage: 'decode', atMs: AT - 180_000 }),
    engines: [{ target: 'e:1', reading: known({ ready: true, model: { version: '1', fingerprint: 'f', dims: 384 } }) }],
    workers: [{ url: 'http://10.0.0.1:8080', reading: known(worker) }],
    ...more,
  };
}

const text = (of: StatusReport, room = UNLIMITED) => reportLines(of, room).map((line) => paint(line, false));

describe('with room for all', () => {
  it('everything is there', () => {
    expect(text(report())).toMatchInlineSnapshot(`
      [
        "09:30:00Z  t  group g",
        "lag           1,000  50/s committed, 0/s arriving  zero in 20s",
        "PARTITION  COMMITTED    END  LAG  DONE BEYOND  OWNER",
        "        0      1,000  1,900  900            0  ingest-0",
        "        1      1,000  1,100  100            0  ingest-0",
        "group         Stable, 1 member",
        "MEMBER    HOST      PARTITIONS",
        "ingest-0  10.0.0.1  0-1",
        "retries       3 scheduled, 0 waiting, 1 active",
        "dead letters  5 in t.dlq, last CHUNK_BLANK (decode) 3m ago",
        "engine        ready  m version 1, 384 dims, f  e:1",
        "WORKER    PHASE    READY  CHUNKS  IN FLIGHT  SLOTS F/L/Q  VIA  ENGINE",
        "ingest-0  running  no     12.5/s        256  1/2/1        shm  ready",
        "  engine: breaker open",
        "  breaker of e:1: open",
        "  nothing is fetched: sink",
      ]
    `);
  });

  const states: [state: string, says: RegExp][] = [
    ['PreparingRebalance', /^group +PreparingRebalance: rebalancing, 0 members$/],
    ['CompletingRebalance', /rebalancing/],
    ['Empty', /Empty: nobody reads$/],
    ['Dead', /Dead: nobody reads$/],
    ['Assigning', /Assigning, 0 members$/],
  ];
  for (const [state, says] of states) {
    it(`a group that is ${state}`, () => {
      const lines = text(report({ members: known({ state, members: [] }) }));
      expect(lines.find((line) => line.startsWith('group'))).toMatch(says);
    });
  }

  it('what is away says its code, and the rest stays', () => {
    const lines = text(report({ offsets: away, deadLetters: away, flow: undefined }));
    expect(lines).toContain('lag           KAFKA_UNAVAILABLE cannot list topics: ECONNREFUSED');
    expect(lines).toContain('group         Stable, 1 member');
    expect(lines.join('\n')).not.toContain('PARTITION  COMMITTED');
  });

  it('names that try to move the cursor are made harmless', () => {
    expect(text(report({ group: 'g\u001b[2J' })).join('')).not.toContain('\u001b');
  });
});

describe('with less room', () => {
  const many = report({ offsets: known(Array.from({ length: 40 }, (_, n) => position(n, n === 17 ? 5_000 : n))) });

  it('fits into 80 x 24, with the partition that lags most and all that is not a row of it', () => {
    const lines = text(many, { columns: 80, rows: 24 });
    expect(lines).toHaveLength(24);
    expect(Math.max(...lines.map(({ length }) => length))).toBeLessThanOrEqual(80);
    expect(lines.find((line) => /^ +17 .* 5,000 /.test(line))).toBeDefined();
    expect(lines.find((line) => /^… \d+ more partitions, lag \d+$/.test(line))).toBeDefined();
    expect(lines.at(-1)).toBe('  nothing is fetched: sink');
  });

  it('what is left out and what is shown are all there is', () => {
    const lines = text(many, { columns: 80, rows: 24 });
    const rest = lines.find((line) => line.startsWith('… ')) ?? '';
    const shown = lines.filter((line) => /^ +\d+ +1,000 /.test(line)).length;
    expect(shown + Number(/\d+/.exec(rest)?.[0])).toBe(40);
  });

  it('never grows beyond the screen, however small it is', () => {
    for (const [columns, rows] of [
      [40, 12],
      [20, 5],
      [1, 1],
    ] as const) {
      const lines = text(many, { columns, rows });
      expect(lines.length).toBeLessThanOrEqual(rows);
      expect(Math.max(...lines.map(({ length }) => length))).toBeLessThanOrEqual(columns);
    }
    expect(text(many, { columns: 40, rows: 12 })[1]).toMatch(/^lag +\d/);
  });
});

describe('as JSON', () => {
  it('offsets are text, and no number is made up', () => {
    const json = JSON.parse(JSON.stringify(reportJson(report({ flow: undefined, workers: [] }))));
    expect(json).toMatchObject({
      lag: '1000',
      rate: null,
      eta: { state: 'unknown', seconds: null },
      deadLetters: { count: '5', last: { letter: { code: 'CHUNK_BLANK', at: '2026-03-01T09:27:00.000Z' } } },
      members: { group: 'Stable', members: [{ host: '10.0.0.1', partitions: [0, 1] }] },
    });
    expect(reportJson(report({ offsets: away }))).toMatchObject({ lag: null, eta: null, offsets: { code: away.code } });
  });

  it('a time that no date can hold is null', () => {
    const last = known({ code: undefined, stage: undefined, atMs: 1e20 });
    expect(reportJson(report({ lastLetter: last }))).toMatchObject({
      deadLetters: { last: { letter: { at: null } } },
    });
  });
});

describe('somethingIsAway', () => {
  it('any part that was asked, but not the code of the last dead letter', () => {
    expect(somethingIsAway(report())).toBe(false);
    expect(somethingIsAway(report({ lastLetter: away }))).toBe(false);
    expect(somethingIsAway(report({ retries: { kind: 'off', reason: 'none' } }))).toBe(false);
    for (const part of ['offsets', 'members', 'retries', 'deadLetters'] as const) {
      expect(somethingIsAway(report({ [part]: away }))).toBe(true);
    }
    expect(somethingIsAway(report({ workers: [{ url: 'http://h', reading: away }] }))).toBe(true);
  });
});
