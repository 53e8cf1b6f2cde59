import { describe, expect, it } from 'vitest';
import { type Check, fail, type Outcome, ok, skipped, warn } from '../../../workers/doctor/check.ts';
import { exitCodeOf, reportJson, reportLines } from '../../../workers/doctor/report.ts';
import { select } from '../../../workers/doctor/select.ts';
import { paint } from '../../../workers/tool/terminal.ts';

const checked = (name: string, outcome: Outcome, group = 'kafka') => ({ name, group, outcome });
const all = [
  checked('topic', ok('it is there')),
  checked('group', warn('two idle', 'run fewer')),
  checked('engine', fail('a: away\nb: away\u001b[2J', 'start it')),
  checked('model', skipped('engine failed')),
];

describe('what is said of the checks', () => {
  it('a line each, what to do under it, a sum; nothing that moves the cursor', () => {
    expect(reportLines(all).map((line) => paint(line, false))).toEqual([
      'ok       topic   it is there',
      'warn     group   two idle',
      '                 → run fewer',
      'fail     engine  a: away',
      '                 b: away\\u001b[2J',
      '                 → start it',
      'skipped  model   engine failed',
      '1 ok, 1 warning, 1 failed, 1 skipped',
    ]);
  });

  it('as JSON with the same words', () => {
    expect(reportJson(all)).toMatchObject({
      event: 'doctor',
      ok: 1,
      warnings: 1,
      failed: 1,
      skipped: 1,
      checks: [
        { name: 'topic', outcome: 'ok', found: 'it is there', remedy: null },
        { name: 'group', outcome: 'warn', remedy: 'run fewer' },
        { name: 'engine', outcome: 'fail', remedy: 'start it' },
        { name: 'model', outcome: 'skipped', found: 'engine failed', remedy: null },
      ],
    });
  });

  it('exit code 0 with warnings, 1 with a failure, 2 with wrong settings', () => {
    expect(exitCodeOf(all.slice(0, 2))).toBe(0);
    expect(exitCodeOf(all)).toBe(1);
    expect(exitCodeOf([checked('settings', fail('wrong', 'correct'), 'settings')])).toBe(2);
  });
});

describe('which checks are made', () => {
  const check = (name: string, group: Check['group'], after: readonly string[] = []): Check => ({
    name,
    group,
    after,
    look: async () => ok('looked'),
  });
  const checks = [
    check('engine', 'engine'),
    check('model', 'engine', ['engine']),
    check('store', 'store'),
    check('collection', 'store', ['store', 'model']),
    check('node', 'machine'),
  ];
  const names = (selected: readonly Check[]) => selected.map(({ name }) => name);

  it('--only takes along what is needed, through all steps', () => {
    expect(names(select(checks, ['store'], []))).toEqual(['engine', 'model', 'store', 'collection']);
    expect(names(select(checks, ['machine'], []))).toEqual(['node']);
  });

  it('--skip shows what it leaves out, and does not look', async () => {
    const selected = select(checks, undefined, ['engine']);
    expect(names(selected)).toEqual(names(checks));
    const outcomes = await Promise.all(selected.map(({ look }) => look(new AbortController().signal)));
    expect(outcomes.map(({ kind }) => kind)).toEqual(['skipped', 'skipped', 'ok', 'ok', 'ok']);
  });
});
