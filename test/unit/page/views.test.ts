/** What the page says of a snapshot: everything in it, and words where there is nothing. */
import { describe, expect, it } from 'vitest';
import type { Cell, Table } from '../../../page/cells.ts';
import {
  intakeFacts,
  keyFacts,
  lastLetters,
  lettersByCode,
  outcomesTable,
  partitionsTable,
  retriesTable,
  seriesOf,
  slotsView,
} from '../../../page/ingest-view.ts';
import { breakersTable, checksTable, modelsTable, verdictOf, vramView } from '../../../page/program-view.ts';
import { type IngestStatus, statusSchema } from '../../../src/ops/status-schema.ts';
import { sampleStatus } from '../ops/ops-fixture.ts';

const status = sampleStatus();
const ingest = status.ingest as IngestStatus;

function read(cell: Cell): string {
  return cell.kind === 'since' || cell.kind === 'clock' ? cell.at : cell.text;
}
const rowsOf = ({ rows }: Table) => rows.map((cells) => cells.map(read));

describe('the verdict', () => {
  it('names the checks that fail', () => {
    expect(verdictOf(status)).toEqual({ tone: 'bad', title: 'Not ready', detail: 'Failing: store.' });
  });

  it('says what the phase means when no check fails', () => {
    const draining = { ...status, phase: 'draining' as const, checks: [] };
    expect(verdictOf(draining)).toMatchObject({ tone: 'odd', detail: expect.stringContaining('takes nothing new') });
  });

  it('has words for every phase and every state of GPU memory', () => {
    for (const phase of statusSchema.shape.phase.options) {
      expect(verdictOf({ ...status, phase, checks: [] }).detail).toMatch(/^It .+\.$/);
    }
    const vram = status.vram!;
    for (const one of statusSchema.shape.vram.unwrap().shape.state.options) {
      expect(read(vramView({ ...vram, state: one })!.state)).toMatch(/^[a-z]/);
    }
  });
});

describe('what is there', () => {
  it('is shown, each number with its exact value', () => {
    expect(rowsOf(checksTable(status.checks))).toEqual([['store', 'fail', status.at]]);
    expect(rowsOf(modelsTable(status.modelServer))[0]?.slice(0, 4)).toEqual([
      'batch_embedder_ensemble',
      'not ready',
      '256',
      '384',
    ]);
    expect(rowsOf(breakersTable(status.modelServer, 'worker'))).toEqual([['localhost:8001', 'open', status.at]]);
    expect(vramView(status.vram)?.gauges).toMatchObject([{ label: 'GPU-0', share: 0.9, limit: 0.85, tone: 'bad' }]);
    expect(keyFacts(ingest).map(({ name, cell }) => [name, read(cell)])).toEqual([
      ['Chunks per second', '0.5'],
      ['Lag', '7'],
      ['Stored', '5'],
      ['In flight', '2'],
      ['Retries waiting', '1'],
      ['Dead letters', '1'],
    ]);
    expect(partitionsTable(ingest).rows[0]?.[2]).toEqual({
      kind: 'number',
      value: '9007199254740993',
      text: '9,007,199,254,740,993',
    });
    expect(slotsView(ingest)?.text).toBe('1 leased, 0 quarantined, 3 free');
    expect(rowsOf(lettersByCode(ingest))).toEqual([['CHUNK_INVALID', '1']]);
    expect(rowsOf(lastLetters(ingest))).toEqual([[status.at, 'CHUNK_INVALID', 'decode']]);
    expect(intakeFacts(ingest).map(({ cell }) => read(cell))).toEqual([
      'joined',
      'paused: sink',
      '1 for in-flight limit',
      'shared memory',
    ]);
  });

  it('every outcome has a row', () => {
    expect(rowsOf(outcomesTable(ingest)).map(([, count]) => count)).toEqual(['5', '0', '1', '0', '1', '0']);
  });

  it('the partition that is furthest behind comes first', () => {
    const partition = (number: number, lag: number) => ({ partition: number, lag, committed: '0', end: '0' });
    const table = partitionsTable({ ...ingest, partitions: [partition(0, 1), partition(1, 10), partition(2, 10)] });
    expect(rowsOf(table).map(([name]) => name)).toEqual(['1', '2', '0']);
  });

  it('the charts end with what is true now', () => {
    const at = '2030-01-01T00:00:04.000Z';
    expect(seriesOf(ingest, at).lag).toEqual([
      { atMs: Date.parse(status.at), value: null },
      { atMs: Date.parse(at), value: 7 },
    ]);
  });
});

describe('what is not there', () => {
  it('is words', () => {
    const bare: IngestStatus = { ...ingest, retries: null, slots: null, lag: null, partitions: [], joined: false };
    expect(partitionsTable(bare).empty).toContain('Not a member');
    expect(partitionsTable({ ...bare, joined: true }).empty).toContain('not told');
    expect(partitionsTable({ ...bare, joined: true, lag: ingest.lag }).empty).toContain('without partitions');
    expect(retriesTable(bare)).toMatchObject({ rows: [], empty: expect.stringMatching(/.+/) });
    expect(slotsView(bare)).toBeUndefined();
    expect(vramView(null)).toBeUndefined();
    expect(keyFacts(bare).map(({ cell }) => read(cell))).toContain('not known');
    const server = { ...status.modelServer, models: [], breakers: [] };
    for (const table of [
      checksTable([]),
      modelsTable(server),
      breakersTable(server, 'worker'),
      breakersTable(server, 'ops'),
      lettersByCode({ ...ingest, deadLetters: { total: 0, byCode: [], last: [] } }),
      lastLetters({ ...ingest, deadLetters: { total: 0, byCode: [], last: [] } }),
    ]) {
      expect(table).toMatchObject({ rows: [], empty: expect.stringMatching(/\w.*\.$/) });
    }
  });
});
