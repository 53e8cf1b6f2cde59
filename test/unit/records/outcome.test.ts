import { describe, expect, it } from 'vitest';
import { ServingError } from '../../../src/errors.ts';
import { type Outcome, settleWhenAll } from '../../../src/records/outcome.ts';

const error = new ServingError('CHUNK_INVALID', 'field "text" is missing');

describe('settleWhenAll', () => {
  function settled(parts: number, ...outcomes: Outcome[]): Outcome[] {
    const parents: Outcome[] = [];
    const settles = settleWhenAll(parts, (outcome) => parents.push(outcome));
    for (const [i, outcome] of outcomes.entries()) settles[i % parts]?.(outcome);
    return parents;
  }

  it('says nothing while one part is open', () => {
    expect(settled(3, { kind: 'persisted' }, { kind: 'persisted' })).toEqual([]);
  });

  it('settles the parent once, with the worst outcome', () => {
    const worst: Outcome = { kind: 'dead-lettered', error };
    expect(settled(3, { kind: 'persisted' }, worst, { kind: 'deleted' })).toEqual([worst]);
  });

  it('one abandoned chunk keeps the whole message open for the next reader', () => {
    const parents = settled(2, { kind: 'dead-lettered', error }, { kind: 'abandoned' });
    expect(parents).toEqual([{ kind: 'abandoned' }]);
  });

  it('a part that settles twice counts once', () => {
    const parents: Outcome[] = [];
    const [first] = settleWhenAll(2, (outcome) => parents.push(outcome));
    first?.({ kind: 'persisted' });
    first?.({ kind: 'abandoned' });
    expect(parents).toEqual([]);
  });
});
