/** What every program has: its phase, its checks, its model server, GPU memory. From the snapshot to what is shown; pure. */
import type { StatusSnapshot } from '../src/ops/status-schema.ts';
import { type Cell, code, type Fact, number, since, state, type Table, type Tone, text } from './cells.ts';
import { formatBytes, formatCount, formatShare, words } from './format.ts';

type Check = StatusSnapshot['checks'][number];
type Vram = NonNullable<StatusSnapshot['vram']>;

export type Verdict = { readonly tone: Tone; readonly title: string; readonly detail: string };

export function verdictOf({ ready, phase, checks }: StatusSnapshot): Verdict {
  if (ready) return { tone: 'good', title: 'Ready', detail: 'No check fails.' };
  const failing = checks.filter(({ ok }) => !ok).map(({ name }) => name);
  const detail = failing.length === 0 ? PHASES[phase] : `Failing: ${failing.join(', ')}.`;
  return { tone: phase === 'starting' || phase === 'draining' ? 'odd' : 'bad', title: 'Not ready', detail };
}

const PHASES: Readonly<Record<StatusSnapshot['phase'], string>> = {
  starting: 'It is starting.',
  running: 'It is running.',
  draining: 'It finishes what it has begun and takes nothing new.',
  stopped: 'It has stopped.',
  failed: 'It cannot go on.',
};

export function checksTable(checks: readonly Check[]): Table {
  return {
    caption: 'Checks',
    columns: ['Check', 'State', 'For'],
    rows: checks.map(({ name, state: verdict, reason, since: at }) => [
      code(name, reason),
      stateOfCheck(verdict),
      since(at),
    ]),
    empty: 'Nothing is checked yet.',
  };
}

function stateOfCheck(verdict: Check['state']): Cell {
  if (verdict === 'pass') return state('good', 'pass');
  return verdict === 'fail' ? state('bad', 'fail') : state('quiet', 'unknown');
}

export function modelsTable({ models }: StatusSnapshot['modelServer']): Table {
  return {
    caption: 'Models',
    columns: ['Model', 'State', 'Max batch', 'Dimensions', 'GPU memory'],
    rows: models.map((model) => [
      code(model.name, model.reason),
      model.state === 'ready'
        ? state('good', 'ready')
        : model.state === 'unknown'
          ? state('quiet', 'unknown')
          : state('bad', 'not ready'),
      countOr(model.maxBatch),
      countOr(model.dims),
      model.gpuBytes === null ? text('not told') : number(model.gpuBytes, formatBytes(model.gpuBytes)),
    ]),
    empty: 'No model is named in the settings.',
  };
}

function countOr(value: number | null): Cell {
  return value === null ? text('not told') : number(value, formatCount(value));
}

export function breakersTable({ breakers }: StatusSnapshot['modelServer'], program: StatusSnapshot['program']): Table {
  return {
    caption: 'Breakers',
    columns: ['Server', 'Breaker', 'For'],
    rows: breakers.map(({ endpoint, state: breaker, since: at }) => [
      code(endpoint),
      breaker === 'closed'
        ? state('good', 'closed')
        : breaker === 'open'
          ? state('bad', 'open')
          : state('odd', 'half-open'),
      since(at),
    ]),
    empty: program === 'ops' ? 'The sidecar has no breaker: each look asks anew.' : 'No server has been called yet.',
  };
}

export type Gauge = {
  readonly label: string;
  /** Of the whole bar, 0 to 1. */
  readonly share: number;
  readonly limit: number;
  readonly tone: Tone;
  readonly text: string;
};

export type VramView = {
  readonly state: Cell;
  readonly facts: readonly Fact[];
  readonly gauges: readonly Gauge[];
  readonly note: string | undefined;
};

/** Undefined where GPU memory is not watched. */
export function vramView(vram: Vram | null): VramView | undefined {
  if (vram === null) return undefined;
  const { maxUtilization } = vram;
  return {
    state: state(toneOfVram(vram.state), VRAM_STATES[vram.state]),
    facts: [
      {
        name: 'Held for good',
        cell: vram.staticBytes === null ? text('not known') : number(vram.staticBytes, formatBytes(vram.staticBytes)),
        note: `limit ${formatBytes(vram.maxStaticBytes)}${vram.staticSource === null ? '' : `, ${SOURCES[vram.staticSource]}`}`,
      },
      { name: 'Capacity', cell: number(vram.capacityBytes, formatBytes(vram.capacityBytes)), note: 'as set' },
    ],
    gauges: vram.gpus.map(({ gpu, usedBytes, totalBytes, utilization }) => ({
      label: gpu,
      share: Math.min(1, utilization ?? 0),
      limit: Math.min(1, maxUtilization),
      tone: utilization === null ? 'quiet' : utilization > maxUtilization ? 'bad' : 'good',
      text:
        utilization === null
          ? 'no usable numbers'
          : `${formatShare(utilization)} used (${sizes(usedBytes, totalBytes)}); limit ${formatShare(maxUtilization)}`,
    })),
    note: vram.reason ?? undefined,
  };
}

function sizes(used: number | null, total: number | null): string {
  const [one, other] = [used, total].map((bytes) => (bytes === null ? 'unknown' : formatBytes(bytes)));
  return `${one} of ${other}`;
}

const SOURCES: Readonly<Record<NonNullable<Vram['staticSource']>, string>> = {
  statistics: 'as the models say',
  floor: 'the least seen in use',
};

const VRAM_STATES: Readonly<Record<Vram['state'], string>> = {
  not_checked: 'not looked at yet',
  ok: 'within limits',
  over_utilization: 'too full',
  over_static: 'too much held for good',
  no_gpu_metrics: 'no GPU metrics',
  invalid_metrics: 'metrics without sense',
  unreachable: 'metrics do not answer',
};

function toneOfVram(vram: Vram['state']): Tone {
  if (vram === 'ok') return 'good';
  return vram === 'over_utilization' || vram === 'over_static' ? 'bad' : 'quiet';
}

export function titleOf({ program, worker, ready }: StatusSnapshot): string {
  return `${ready ? '' : '✕ '}${worker} · rag-serving ${words(program)}`;
}
