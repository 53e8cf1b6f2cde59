/** `rag-serving plan`: reads settings and options, says the plan. */
import type { Env } from '../../src/config/env-reader.ts';
import { readPlanConfig } from '../../src/config/tool-programs.ts';
import { ServingError } from '../../src/errors.ts';
import type { VectorDtype } from '../../src/kserve/contract.ts';
import { type ExitCode, exitCodes } from '../exit-codes.ts';
import { planFor } from './plan.ts';
import { planText } from './report.ts';
import { designRate, type Gpu, type Workload } from './workload.ts';

export type PlanFlags = {
  readonly chunks?: number;
  readonly rate?: number;
  readonly within: number;
  readonly gpu: Gpu;
  readonly gpuRate?: number;
  readonly headroom: number;
  readonly textBytes: number;
  readonly chunksPerMessage: number;
  readonly dims: number;
  readonly dtype: VectorDtype;
  readonly modelParameters: number;
  readonly retention: number;
  readonly replication: number;
  readonly sink: Workload['sink'];
  readonly podHourPrice?: number;
  readonly json?: true;
};

export function runPlan(flags: PlanFlags, env: Env): ExitCode {
  const { shm, pipeline, platform, storeText } = readPlanConfig(env);
  const { chunks = 0, rate = 0, within, gpuRate, retention, podHourPrice, json, ...rest } = flags;
  if (chunks === 0 && rate === 0) {
    throw new ServingError(
      'ARGUMENT_INVALID',
      '--chunks and --rate are both missing or 0: give what is to be planned for',
    );
  }
  const workload: Workload = {
    ...rest,
    chunks,
    rate,
    withinSeconds: within / 1_000,
    retentionSeconds: retention / 1_000,
    gpuRate: gpuRate ?? designRate[flags.gpu],
    isMeasured: gpuRate !== undefined,
    storesText: storeText,
    podHourPrice,
  };
  const plan = planFor(workload, {
    slots: shm.slots,
    slotInputBytes: shm.slotInputBytes,
    batchSize: pipeline.maxBatchSize,
    maxInFlightBytes: pipeline.maxInFlightBytes,
    maxStaticVramBytes: platform.maxStaticVramBytes,
    vramMaxUtilizationRatio: platform.vramMaxUtilizationRatio,
  });
  process.stdout.write(json === true ? `${JSON.stringify({ event: 'plan', ...plan })}\n` : planText(plan));
  return exitCodes.done;
}
