import { describe, expect, it } from 'vitest';
import { VersionGuard } from '../../../../src/sinks/lancedb/version-guard.ts';

function commit(guard: VersionGuard, found: number, made: number): void {
  guard.begin();
  guard.check(found);
  guard.advance(made);
}

describe('VersionGuard', () => {
  it('takes our own commits one after the other', () => {
    const guard = new VersionGuard('table', 5);
    commit(guard, 5, 6);
    expect(() => commit(guard, 6, 7)).not.toThrow();
  });

  it('refuses a commit that is not ours, before and after our own, and then for good', () => {
    const before = new VersionGuard('table', 5);
    expect(() => commit(before, 6, 7)).toThrow(/takes one writer/);
    expect(() => before.begin()).toThrow(/takes one writer/);
    expect(() => commit(new VersionGuard('table', 5), 5, 7)).toThrow(/takes one writer/);
  });

  it('takes one commit more after a failure, and not two', () => {
    const guard = new VersionGuard('table', 5);
    guard.failed();
    commit(guard, 6, 7);
    expect(() => commit(guard, 8, 9)).toThrow(/takes one writer/);
  });

  it('takes commits of maintenance beside a commit, also when it begins or ends in the middle of one', () => {
    const guard = new VersionGuard('table', 5);
    guard.begin();
    guard.check(5);
    guard.maintenanceBegins();
    guard.advance(8);
    commit(guard, 9, 11);
    guard.begin();
    guard.maintenanceEnds(undefined);
    guard.check(12);
    guard.advance(14);
    commit(guard, 15, 16);
    expect(() => commit(guard, 17, 18)).toThrow(/takes one writer/);
  });
});
