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

  it('holds single partitions until there is room', () => {
    const pauses = new Pauses();
    pauses.hold([p(1)], false);
    expect(pauses.changes([p(0), p(1)])).toEqual({ pause: [p(1)], resume: [] });
    pauses.hold([p(0)], true);
    expect([pauses.someWait, pauses.waitsUntilEmpty]).toEqual([true, true]);
    expect(pauses.changes([p(0), p(1)])).toEqual({ pause: [p(0)], resume: [] });
    pauses.release();
    expect(pauses.changes([p(0), p(1)])).toEqual({ pause: [], resume: [p(0), p(1)] });
    expect([pauses.someWait, pauses.waitsUntilEmpty]).toEqual([false, false]);
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
