/** The report as one JSON object; pure. Offsets and sums of them are text: they may be larger than JSON numbers are exact. */
import { positionJson } from '../offsets/positions.ts';
import { type Eta, etaOf, lagOf } from './flow.ts';
import type { StatusReport } from './report.ts';
import { knownValue, type Reading } from './source.ts';

export function reportJson(report: StatusReport) {
  const { flow, offsets, members, topic } = report;
  const positions = knownValue(offsets);
  const lag = positions === undefined ? undefined : lagOf(positions);
  return {
    event: 'status',
    at: iso(report.atMs),
    group: report.group,
    topic,
    lag: lag === undefined ? null : String(lag),
    rate: flow === undefined ? null : { ...flow },
    eta: lag === undefined ? null : etaJson(etaOf(lag, flow)),
    offsets: reading(offsets, (all) => ({
      partitions: all.map(positionJson),
    })),
    members: reading(members, ({ state, members: all }) => ({
      group: state,
      members: all.map(({ clientId, host, partitions }) => ({
        clientId,
        host: host.replace(/^\//, ''),
        partitions: [...(partitions.get(topic) ?? [])].sort((a, b) => a - b),
      })),
    })),
    retries: reading(report.retries, (counts) => counts),
    deadLetters: reading(report.deadLetters, ({ count, exists }) => ({
      topic: report.deadLetterTopic,
      exists,
      count: String(count),
      last: reading(report.lastLetter, (last) => ({
        letter: last === undefined ? null : { code: last.code, stage: last.stage, at: iso(last.atMs) },
      })),
    })),
    engines: report.engines.map(({ target, reading: one }) => ({
      target,
      model: report.modelName,
      ...reading(one, ({ ready, model }) => ({ ready, ...model })),
    })),
    workers: report.workers.map(({ url, reading: one }) => ({ url, ...reading(one, (status) => ({ status })) })),
  };
}

function reading<T, J extends object>(from: Reading<T>, of: (value: T) => J) {
  switch (from.kind) {
    case 'known':
      return { state: 'known', at: iso(from.atMs), ...of(from.value) } as const;
    case 'away':
      return { state: 'away', at: iso(from.atMs), code: from.code, reason: from.reason } as const;
    case 'off':
      return { state: 'off', reason: from.reason } as const;
    case 'asking':
      return { state: 'asking' } as const;
  }
}

function etaJson(eta: Eta) {
  return { state: eta.kind, seconds: eta.kind === 'in' ? Math.ceil(eta.ms / 1_000) : null };
}

/** A dead letter's header may say any time, also one that no date can hold. */
function iso(ms: number): string | null {
  const date = new Date(ms);
  return Number.isNaN(date.getTime()) ? null : date.toISOString();
}
