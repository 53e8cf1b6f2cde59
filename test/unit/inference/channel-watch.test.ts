import { describe, expect, it } from 'vitest';
import { ChannelWatch } from '../../../src/inference/channel-watch.ts';

const options = { silentMs: 15_000, replacements: 3 };

/** Calls of a silent channel end every five seconds. */
function silentFor(watch: ChannelWatch, fromMs: number, ms: number): number {
  for (let passed = 0; passed < ms; passed += 5_000) watch.unanswered();
  return fromMs + ms;
}

describe('ChannelWatch', () => {
  const suspects: readonly [name: string, silentMs: number, calls: number, suspect: boolean][] = [
    ['a channel that nobody called is not suspect', 3_600_000, 0, false],
    ['one call without an answer says nothing', 3_600_000, 1, false],
    ['calls that ended in quick succession say nothing yet', 14_999, 100, false],
    ['calls without an answer for long make it suspect', 15_000, 2, true],
  ];
  for (const [name, silentMs, calls, suspect] of suspects) {
    it(name, () => {
      const watch = new ChannelWatch(options, 1_000);
      for (let call = 0; call < calls; call++) watch.unanswered();
      expect(watch.suspect(1_000 + silentMs)).toBe(suspect);
    });
  }

  it('one answer of any call clears it', () => {
    const watch = new ChannelWatch(options, 0);
    const now = silentFor(watch, 0, 20_000);
    watch.answered(now);
    watch.unanswered();
    expect(watch.suspect(now + 10_000)).toBe(false);
    expect(watch.silentMs(now + 10_000)).toBe(10_000);
  });

  it('a server that answers nobody is an outage, however long', () => {
    const watch = new ChannelWatch(options, 0);
    for (let now = 20_000; now < 3_600_000; now = silentFor(watch, now, 20_000)) {
      expect(watch.judge(false, now)).toBe('outage');
    }
  });

  it('is replaced when a fresh connection is answered, and given up after three replacements without an answer', () => {
    const watch = new ChannelWatch(options, 0);
    let now = 0;
    const verdicts = Array.from({ length: 4 }, () => {
      now = silentFor(watch, now, 20_000);
      expect(watch.suspect(now)).toBe(true);
      const verdict = watch.judge(true, now);
      if (verdict === 'replace') expect(watch.suspect(now)).toBe(false);
      return verdict;
    });
    expect(verdicts).toEqual(['replace', 'replace', 'replace', 'give-up']);
  });

  it('an answer after a replacement makes the count begin anew', () => {
    const watch = new ChannelWatch(options, 0);
    let now = 0;
    for (let round = 0; round < 20; round++) {
      now = silentFor(watch, now, 20_000);
      expect(watch.judge(true, now)).toBe('replace');
      watch.answered(now);
    }
  });
});
