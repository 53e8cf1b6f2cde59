import { describe, expect, it } from 'vitest';
import { Pauses } from '../../../src/kafka/pauses.ts';

const p = (partition: number) => ({ topic: 't', partition });

describe('Pauses', () => {
  it('adds reasons up, and tells each change once', () => {
    const pauses = new Pauses();
    pauses.add('sink');
    expect(pauses.changes([p(0), p(1)])).toEqual({ pause: [p(0), p(1)], resume: [] });
    pauses.add('engine');
    pauses.remove('sink');
    expect(pauses.changes([p(0), p(1)])).toEqual({ pause: [], resume: [] });
    pauses.remove('engine');
    expect(pauses.changes([p(0), p(1)])).toEqual({ pause: [], resume: [p(0), p(1)] });
  });

  it('holds single partitions, each until all that it waits for is over', () => {
    const pauses = new Pauses();
    pauses.hold('in-flight limit', [p(1)]);
    expect(pauses.changes([p(0), p(1)])).toEqual({ pause: [p(1)], resume: [] });
    pauses.hold('commit metadata full', [p(0), p(1)]);
    expect(pauses.changes([p(0), p(1)])).toEqual({ pause: [p(0)], resume: [] });
    pauses.release('in-flight limit');
    expect(pauses.waits('in-flight limit')).toBe(false);
    expect(pauses.changes([p(0), p(1)])).toEqual({ pause: [], resume: [] });
    pauses.release('commit metadata full', [p(1)]);
    expect(pauses.waitingFor('commit metadata full')).toEqual([p(0)]);
    expect(pauses.changes([p(0), p(1)])).toEqual({ pause: [], resume: [p(1)] });
  });

  it('forgets what a lost partition waited for, and says whether a batch of one must wait', () => {
    const pauses = new Pauses();
    pauses.hold('commit metadata full', [p(0)]);
    expect(pauses.holds(p(0), 'commit metadata full')).toBe(true);
    expect(pauses.holds(p(0), 'in-flight limit')).toBe(false);
    pauses.forget([p(0)]);
    expect(pauses.holds(p(0), 'commit metadata full')).toBe(false);
    pauses.add('sink');
    expect(pauses.holds(p(0))).toBe(true);
  });

  it('pauses what is gained meanwhile, resumes what comes back paused, and begins anew with a new client', () => {
    const pauses = new Pauses();
    pauses.add('sink');
    pauses.changes([p(0)]);
    expect(pauses.changes([p(1)])).toEqual({ pause: [p(1)], resume: [] });
    pauses.remove('sink');
    expect(pauses.changes([p(1)])).toEqual({ pause: [], resume: [p(1)] });
    expect(pauses.changes([p(0)])).toEqual({ pause: [], resume: [p(0)] });
    pauses.add('sink');
    pauses.changes([p(0)]);
    pauses.forgetApplied();
    expect(pauses.changes([p(0)])).toEqual({ pause: [p(0)], resume: [] });
  });
});
