/** The part of the screen that workers tell of themselves. Pure. */
import { type Cell, grid } from '../tool/grid.ts';
import { formatCount, formatRate } from '../tool/quantity.ts';
import { harmless } from '../tool/table.ts';
import type { Line } from '../tool/terminal.ts';
import { labelled, span } from './kafka-view.ts';
import type { Block } from './layout.ts';
import type { StatusReport } from './report.ts';
import type { WorkerState } from './worker-answer.ts';

type Asked = StatusReport['workers'][number];

const HEAD = ['WORKER', 'PHASE', 'READY', 'CHUNKS', 'IN FLIGHT', 'SLOTS F/L/Q', 'VIA', 'ENGINE'];

/** Those that answer as a table, with what is wrong with one below it; then those that do not. Undefined when none was named. */
export function workerBlock({ workers }: StatusReport): Block | undefined {
  if (workers.length === 0) return undefined;
  const known = workers.flatMap(({ reading }) => (reading.kind === 'known' ? [reading.value] : []));
  const [head, ...lines] = grid(HEAD, known.map(rowOf));
  const rows = lines.flatMap((line, index) => {
    const state = known[index];
    return state === undefined ? [line] : [line, ...troublesOf(state)];
  });
  const silent = workers.filter(({ reading }) => reading.kind !== 'known').map(silentLine);
  return {
    head: head !== undefined && known.length > 0 ? [head] : [],
    // Who does not answer is what the operator has to know first.
    rows: [...silent, ...rows],
    rest: (left) => [span(`… ${left.length} more lines about workers`, 'quiet')],
  };
}

function silentLine({ url, reading }: Asked): Line {
  return labelled('worker', reading, () => []).concat(span(` (${harmless(new URL(url).host)})`, 'quiet'));
}

function rowOf({ worker, phase, ready, ingest, modelServer }: WorkerState): readonly Cell[] {
  const slots = ingest?.slots;
  const models = modelServer.models.map(({ state }) => state);
  const engine = models.length === 0 ? '-' : models.every((state) => state === 'ready') ? 'ready' : models.join(', ');
  const rate = ingest?.chunksPerSecond;
  return [
    { text: worker },
    { text: phase, tone: phase === 'running' ? 'plain' : 'warning' },
    { text: ready ? 'yes' : 'no', tone: ready ? 'good' : 'bad' },
    { text: typeof rate === 'number' ? formatRate(rate) : '-', align: 'right' },
    { text: ingest?.inFlight ? formatCount(ingest.inFlight.chunks) : '-', align: 'right' },
    { text: slots ? `${slots.free}/${slots.leased}/${slots.quarantined}` : '-' },
    { text: ingest?.transport === 'shared_memory' ? 'shm' : (ingest?.transport ?? '-') },
    { text: engine, tone: engine === 'ready' ? 'good' : 'warning' },
  ];
}

function troublesOf({ checks, ingest, modelServer }: WorkerState): readonly Line[] {
  const failing = checks.filter(({ ok }) => !ok).map(({ name, reason }) => `${name}: ${reason ?? 'does not pass'}`);
  const open = modelServer.breakers
    .filter(({ state }) => state !== 'closed')
    .map(({ endpoint, state }) => `breaker of ${endpoint}: ${state}`);
  const paused = (ingest?.paused ?? []).map((why) => `nothing is fetched: ${why}`);
  return [...failing, ...open, ...paused].map((text) => [span(`  ${harmless(text)}`, 'warning')]);
}
