import { describe, expect, it } from 'vitest';
import { ServingError } from '../../../../src/errors.ts';
import { worstError, worstOutcomes } from '../../../../src/sinks/fan-out/worst.ts';
import type { RowOutcome } from '../../../../src/sinks/sink.ts';

const refused: RowOutcome = { kind: 'refused', error: new ServingError('SINK_ROW_REFUSED', 'x') };
const [stored, superseded] = [{ kind: 'stored' }, { kind: 'superseded' }] as const;

describe('the worst of several stores', () => {
  it('counts row by row, whichever store says it', () => {
    expect(worstOutcomes([])).toEqual([]);
    expect(worstOutcomes([[stored, refused]])).toEqual([stored, refused]);
    const answers = [
      [stored, stored, superseded, refused, stored],
      [stored, superseded, stored, stored, refused],
      [stored, stored, stored, superseded, superseded],
    ];
    expect(worstOutcomes(answers)).toEqual([stored, superseded, superseded, refused, refused]);
  });

  it('is fatal before it is an outage, and names all that failed', () => {
    const failures = [
      { sink: 'redis', error: new ServingError('SINK_FULL', 'full') },
      { sink: 'pgvector', error: new ServingError('SINK_ACCESS_DENIED', 'denied', { details: { field: 'x' } }) },
    ];
    expect(worstError(failures)).toMatchObject({
      ...{ code: 'SINK_ACCESS_DENIED', message: 'denied' },
      details: { field: 'x', failedSinks: 'redis, pgvector' },
    });
    expect(worstError([...failures.slice(0, 1)])).toMatchObject({ code: 'SINK_FULL' });
  });
});
