/** How many workers, each with one GPU, and over how many partitions they spread. Pure. */
import { count, type Figure, figure } from './figure.ts';
import type { Workload } from './workload.ts';

/** Divided evenly by most numbers below them: any number of pods up to there gets the same share. */
const EVEN = [
  1, 2, 4, 6, 12, 24, 36, 48, 60, 120, 180, 240, 360, 720, 840, 1_260, 1_680, 2_520, 5_040, 7_560, 10_080,
] as const;

export type PodPlan = {
  /** Chunks a second that one pod is counted with. */
  readonly podRate: number;
  readonly steadyPods: number;
  readonly maxPods: number;
  readonly partitions: number;
  /** Undefined when there is no backlog. */
  readonly backlogSeconds: number | undefined;
  readonly figures: readonly Figure[];
};

export function planPods(load: Workload): PodPlan {
  const podRate = load.gpuRate * (1 - load.headroom);
  const steadyPods = Math.ceil(load.rate / podRate);
  const backlogRate = load.chunks / load.withinSeconds;
  const maxPods = Math.max(steadyPods, Math.ceil((load.rate + backlogRate) / podRate), 1);
  const partitions = evenAbove(2 * maxPods);
  const spare = maxPods * podRate - load.rate;
  const backlogSeconds = load.chunks === 0 ? undefined : load.chunks / spare;
  const [rate, pod] = [count(load.rate), count(podRate)];
  const figures = [
    figure(
      'rate of one pod',
      podRate,
      'chunks/s',
      `${count(load.gpuRate)} ${load.isMeasured ? 'given' : `assumed for ${load.gpu}`} × (1 − ${load.headroom} headroom)`,
    ),
    figure('pods for new chunks', steadyPods, 'pods', `⌈${rate} ÷ ${pod}⌉`),
    figure(
      'most pods',
      maxPods,
      'pods',
      load.chunks === 0
        ? 'no backlog: as for new chunks, at least 1'
        : `⌈(${rate} + ${count(load.chunks)} ÷ ${count(load.withinSeconds)} s) ÷ ${pod}⌉`,
    ),
    figure(
      'partitions',
      partitions,
      'partitions',
      `2 × ${maxPods} pods, up to the next number that many divide evenly`,
    ),
    ...(backlogSeconds === undefined
      ? []
      : [
          figure(
            'backlog gone after',
            backlogSeconds,
            'seconds',
            `${count(load.chunks)} ÷ (${maxPods} × ${pod} − ${rate})`,
          ),
        ]),
    ...(load.rate === 0 || spare <= 0
      ? []
      : [
          figure(
            'an outage of 1 h is made up in',
            (load.rate * 3_600) / spare,
            'seconds',
            `${rate} × 3,600 s ÷ (${maxPods} × ${pod} − ${rate})`,
          ),
        ]),
    ...(load.podHourPrice === undefined
      ? []
      : [
          figure(
            'new chunks, a month',
            steadyPods * 730 * load.podHourPrice,
            'cost',
            `${steadyPods} pods × 730 h × ${load.podHourPrice}`,
          ),
          ...(backlogSeconds === undefined
            ? []
            : [
                figure(
                  'backlog, once',
                  (maxPods - steadyPods) * (backlogSeconds / 3_600) * load.podHourPrice,
                  'cost',
                  `(${maxPods} − ${steadyPods}) pods × ${count(backlogSeconds / 3_600)} h × ${load.podHourPrice}`,
                ),
              ]),
        ]),
  ];
  return { podRate, steadyPods, maxPods, partitions, backlogSeconds, figures };
}

function evenAbove(least: number): number {
  return EVEN.find((one) => one >= least) ?? least;
}
