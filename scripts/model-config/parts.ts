/** What configurations are made of, as the schema has it. */
import type { MessageInitShape } from '@bufbuild/protobuf';
import {
  DataType,
  ModelInstanceGroup_Kind as Kind,
  type ModelConfigSchema,
  ModelQueuePolicy_TimeoutAction as TimeoutAction,
} from '../../src/kserve/gen/model_config_pb.ts';
import type { Notes } from './print.ts';

export type ConfigInit = MessageInitShape<typeof ModelConfigSchema>;

/** A configuration and what is written above its parts. */
export type NotedConfig = { readonly config: ConfigInit; readonly notes: Notes };

export type Queue = {
  readonly delayMicroseconds: number;
  readonly preferredBatchSizes?: readonly number[];
  readonly maxRequests: number;
  readonly timeoutMicroseconds: number;
};

export const textInput = (name: string) => ({ name, dataType: DataType.TYPE_STRING, dims: [1n] });
export const tokenTensor = (name: string) => ({ name, dataType: DataType.TYPE_INT64, dims: [-1n] });

/** Only the newest version is served, and answers are not kept: a cache would hold vectors and texts of everybody. */
export const SERVED = {
  versionPolicy: { policyChoice: { case: 'latest', value: { numVersions: 1 } } },
  responseCache: { enable: false },
} as const satisfies ConfigInit;

/** A request may shorten its time in the queue with its own `timeout`, never lengthen it. */
export function batching(queue: Queue): ConfigInit['schedulingChoice'] {
  return {
    case: 'dynamicBatching',
    value: {
      preferredBatchSize: [...(queue.preferredBatchSizes ?? [])],
      maxQueueDelayMicroseconds: BigInt(queue.delayMicroseconds),
      defaultQueuePolicy: {
        timeoutAction: TimeoutAction.REJECT,
        defaultTimeoutMicroseconds: BigInt(queue.timeoutMicroseconds),
        allowTimeoutOverride: true,
        maxQueueSize: queue.maxRequests,
      },
    },
  };
}

export type Placement = {
  readonly device: 'gpu' | 'cpu';
  readonly gpus?: readonly number[];
  readonly instances: number;
};

export function instances({ device, gpus = [], instances: count }: Placement): ConfigInit['instanceGroup'] {
  return [device === 'cpu' ? { kind: Kind.CPU, count } : { kind: Kind.GPU, count, gpus: [...gpus] }];
}

export function parameters(entries: Readonly<Record<string, string>>): ConfigInit['parameters'] {
  return Object.fromEntries(Object.entries(entries).map(([key, stringValue]) => [key, { stringValue }]));
}
