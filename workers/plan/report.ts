/** A plan as text for a reader: each figure with its arithmetic. Pure. */
import { bytesText } from '../tool/bytes-text.ts';
import { table } from '../tool/table.ts';
import { count, type Figure } from './figure.ts';
import type { Plan } from './plan.ts';

export function planText({ sections, set, warnings }: Plan): string {
  const width = Math.max(...sections.flatMap(({ figures }) => figures.map(({ name }) => name.length)));
  const values = Math.max(...sections.flatMap(({ figures }) => figures.map((one) => valueText(one).length)));
  const parts = sections.map(({ title, figures }) =>
    [
      title,
      ...figures.map((one) => `  ${one.name.padEnd(width)}  ${valueText(one).padStart(values)}  = ${one.how}`),
    ].join('\n'),
  );
  const toSet = table(
    ['SET', 'TO'],
    [
      ['partitions of the topic', String(set.partitions)],
      ['pods: always, at most', `${set.steadyPods}, ${set.maxPods}`],
      ['memory volume at /dev/shm', bytesText(set.shmBytes)],
      ['memory limit of the worker', bytesText(set.workerMemoryBytes)],
    ],
  ).trimEnd();
  const said = warnings.map((warning) => `warning: ${warning}`);
  return `${[...parts, toSet, ...(said.length === 0 ? [] : [said.join('\n')])].join('\n\n')}\n`;
}

function valueText({ value, unit }: Figure): string {
  switch (unit) {
    case 'bytes':
      return bytesText(value);
    case 'bytes/s':
      return `${bytesText(value)}/s`;
    case 'seconds':
      return durationText(value);
    case 'cost':
      return count(value);
    default:
      return `${count(value)} ${unit}`;
  }
}

function durationText(seconds: number): string {
  if (seconds < 120) return `${count(seconds)} s`;
  return seconds < 2 * 3_600 ? `${count(seconds / 60)} min` : `${count(seconds / 3_600)} h`;
}
