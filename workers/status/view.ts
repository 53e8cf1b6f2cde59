/** The report as lines for a person, once or as a dashboard; pure. What an operator looks for first comes first. */

import { formatAge } from '../tool/moment.ts';
import { formatCount } from '../tool/quantity.ts';
import { harmless } from '../tool/table.ts';
import type { Line } from '../tool/terminal.ts';
import { groupBlock, labelled, lagLine, partitionBlock, span } from './kafka-view.ts';
import { type Block, layOut, type Room } from './layout.ts';
import type { StatusReport } from './report.ts';
import { knownValue } from './source.ts';
import { workerBlock } from './worker-view.ts';

export function reportLines(report: StatusReport, room: Room): readonly Line[] {
  const blocks = [
    fixed([titleLine(report), lagLine(report)]),
    partitionBlock(report),
    groupBlock(report),
    fixed([retryLine(report), letterLine(report), ...engineLines(report)]),
    workerBlock(report),
  ].filter((block) => block !== undefined);
  return layOut(blocks, room);
}

function fixed(head: readonly Line[]): Block {
  return { head, rows: [], rest: () => [] };
}

function titleLine({ atMs, group, topic }: StatusReport): Line {
  const time = new Date(atMs).toISOString().slice(11, 19);
  return [span(`${time}Z`, 'quiet'), span(`  ${harmless(topic)}`, 'title'), span(`  group ${harmless(group)}`)];
}

function retryLine({ retries }: StatusReport): Line {
  return labelled('retries', retries, ({ delayed, waiting, active }) => [
    span(`${formatCount(delayed)} scheduled, ${formatCount(waiting)} waiting, ${formatCount(active)} active`),
  ]);
}

function letterLine({ deadLetters, deadLetterTopic, lastLetter, atMs }: StatusReport): Line {
  return labelled('dead letters', deadLetters, ({ exists, count }) => {
    if (!exists) return [span(`none: topic ${harmless(deadLetterTopic)} is not there yet`)];
    const told = [
      span(formatCount(count), count === 0n ? 'plain' : 'warning'),
      span(` in ${harmless(deadLetterTopic)}`),
    ];
    if (count === 0n) return told;
    if (lastLetter.kind === 'away') return [...told, span(`, last: ${lastLetter.code}`, 'warning')];
    const last = knownValue(lastLetter);
    if (last === undefined) return told;
    const where = last.stage === undefined ? '' : ` (${last.stage})`;
    return [...told, span(`, last ${harmless(`${last.code ?? 'unsaid'}${where}`)} ${formatAge(atMs - last.atMs)} ago`)];
  });
}

function engineLines({ engines, modelName }: StatusReport): readonly Line[] {
  return engines.map(({ target, reading }) => {
    const line = labelled('engine', reading, ({ ready, model }) =>
      ready && model !== undefined
        ? [
            span('ready', 'good'),
            span(`  ${harmless(`${modelName} version ${model.version}, ${model.dims} dims, ${model.fingerprint}`)}`),
          ]
        : [span('not ready', 'bad'), span(`  ${harmless(modelName)}`)],
    );
    return [...line, span(`  ${harmless(target)}`, 'quiet')];
  });
}
