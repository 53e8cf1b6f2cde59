/**
 * `make bench-online`: how much of a search's time is ours. Against an engine with set service times: our own share beside
 * two peers with an instant one, then the three operations under their usual load. Writes docs/benchmarks/online.json, and
 * the whole histograms beside it. Refuses a machine that is busy with something else.
 */
import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { availableParallelism, cpus, loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Histogram } from 'hdr-histogram-js';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { committedPath } from '../../../scripts/stack/package-root.ts';
import { provisionPython, venvPython } from '../../../scripts/stack/python.ts';
import { endPrograms, startEngine } from '../../integration/worker/harness.ts';
import { askFor, EMBEDDER } from './answers.ts';
import { compareClosed, compareOpen, cpuRatio, RATE, ratio, round } from './compare.ts';
import { encoded, histogramOf, median, quoted } from './histograms.ts';
import { Load, type Spec } from './load.ts';

/** BENCH_SHORT=1 tries everything in a minute, and writes nothing. */
const SHORT = process.env.BENCH_SHORT === '1';
const SECONDS = SHORT ? 3 : 60;
const TURNS = SHORT ? 1 : 3;
const TURN_SECONDS = SHORT ? 3 : 20;
const CLOSED_SECONDS = SHORT ? 2 : 6;
const SERVICE_MS = { embed: 3, rerank: 12 };
const RERANKS_A_SECOND = 150;
/** Of its cores a machine may have this share busy before the run. */
const BUSY_SHARE = 0.1;

let load: Load;

beforeAll(async () => {
  const report = (line: string) => void process.stderr.write(`${line}\n`);
  const requirements = 'test/benchmark/online/requirements.txt';
  const need = { name: 'tritonclient', requirements, minors: [11, 12, 13], sharedLibrary: false };
  const python = venvPython(await provisionPython(need, report));
  load = await Load.make(mkdtempSync(join(tmpdir(), 'rag-bench-')), python);
}, 600_000);

afterAll(() => load?.close());

it('the profile of the online module', async () => {
  const busy = await busyShare(5_000);
  if (busy > BUSY_SHARE && !SHORT)
    throw new Error(`${Math.round(busy * 100)} % of the cores are busy with something else`);
  const real = await startEngine(['--synthetic']);
  const instant = await askFor(real.target, { embed: 0, rerank: 0 });
  const paced = await askFor(real.target, SERVICE_MS);
  await endPrograms();

  const histograms: Record<string, Histogram> = {};
  const fast = await load.startEngine(instant);
  const own = await compareOpen(load, fast, TURNS, TURN_SECONDS);
  const qps = await compareClosed(load, fast, TURNS, CLOSED_SECONDS);
  for (const [client, histogram] of Object.entries(own.histograms)) histograms[`own share, ${client}`] = histogram;

  const target = await load.startEngine(paced);
  const base = { target, model: EMBEDDER, mode: 'open', seconds: SECONDS, callers: 0, seed: 1 } as const;
  const ask = async (spec: Pick<Spec, 'operation' | 'rate'>) => {
    const { times, errors, cpuUs, calls } = await load.run('ours', { ...base, ...spec });
    const named = (names: readonly string[]) => histogramOf(names.flatMap((name) => times[name] ?? []));
    // What a caller sees: the answers that came too late, or in the incoming order, are among them.
    const seen = named(spec.operation === 'both' ? ['search', 'degraded'] : Object.keys(times));
    histograms[spec.operation === 'both' ? 'search' : spec.operation] = seen;
    const ends = Object.fromEntries(Object.entries(times).map(([name, list]) => [name, list.length]));
    return { ...quoted(seen), ends, errors, cpuUs: Math.round(cpuUs / calls) };
  };
  const embed = await ask({ operation: 'embed', rate: RATE });
  const rerank = await ask({ operation: 'rerank', rate: RERANKS_A_SECOND });
  const search = await ask({ operation: 'both', rate: RATE });

  const result = {
    machine: {
      cpu: cpus()[0]!.model,
      cores: availableParallelism(),
      node: process.version,
      busyBefore: round(busy),
      loadAfter: loadavg()[0],
    },
    serviceMs: SERVICE_MS,
    embed,
    rerank,
    search,
    ownShareP99Ms: round(median(own.p99Ms.ours)),
    p99VsTritonclient: ratio(own.p99Ms.ours, own.p99Ms.tritonclient),
    p99VsGo: ratio(own.p99Ms.ours, own.p99Ms.go),
    cpuVsBareGrpc: cpuRatio(own, 'ours', 'bare'),
    qpsVsTritonclient: ratio(qps.ours, qps.tritonclient),
    ownShare: { clients: own.clients, p99Ms: own.p99Ms, cpuUs: own.cpuUs, errors: own.errors },
    qpsWith32Callers: qps,
  };
  write(result, histograms);
  expect(own.errors).toEqual({ ours: 0, bare: 0, tritonclient: 0, go: 0, none: 0 });
}, 1_800_000);

function write(result: unknown, histograms: Readonly<Record<string, Histogram>>): void {
  const text = `${JSON.stringify(result, undefined, 1)}\n`;
  if (SHORT) return void process.stderr.write(text);
  const folder = join(committedPath('docs'), 'benchmarks');
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'online.json'), text);
  const whole = Object.fromEntries(Object.entries(histograms).map(([name, histogram]) => [name, encoded(histogram)]));
  writeFileSync(join(folder, 'online.histograms.json'), `${JSON.stringify(whole, undefined, 1)}\n`);
}

/** Share of all cores' time that is not idle, over a while in which we do nothing. */
async function busyShare(overMs: number): Promise<number> {
  const before = cpuTimes();
  await sleep(overMs);
  const after = cpuTimes();
  return 1 - (after.idle - before.idle) / (after.all - before.all);
}

function cpuTimes(): { readonly idle: number; readonly all: number } {
  const times = cpus().map(({ times: of }) => of);
  const idle = times.reduce((sum, of) => sum + of.idle, 0);
  return { idle, all: times.reduce((sum, of) => sum + of.idle + of.user + of.sys + of.nice + of.irq, 0) };
}
