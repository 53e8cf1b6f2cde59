/** The whole plan of a workload, and what of it is to be set. Pure. */
import type { Section } from './figure.ts';
import { planKafka } from './kafka.ts';
import { planMemory } from './memory.ts';
import { planPods } from './pods.ts';
import { planStore } from './store.ts';
import type { WorkerFacts, Workload } from './workload.ts';

export type Plan = {
  readonly sections: readonly Section[];
  readonly set: {
    readonly partitions: number;
    /** Pods that stay for new chunks; the autoscaler may still go to zero when no chunk waits. */
    readonly steadyPods: number;
    /** Most pods; never more than partitions, since a partition has one reader. */
    readonly maxPods: number;
    /** Size of the memory volume at /dev/shm. */
    readonly shmBytes: number;
    /** Memory limit of the worker's container, shared memory included. */
    readonly workerMemoryBytes: number;
  };
  readonly warnings: readonly string[];
};

export function planFor(load: Workload, worker: WorkerFacts): Plan {
  const pods = planPods(load);
  const memory = planMemory(load, worker);
  const store = planStore(load, pods);
  return {
    sections: [
      { title: 'Pods and partitions', figures: pods.figures },
      { title: 'A pod', figures: memory.figures },
      { title: 'Kafka', figures: planKafka(load, pods, worker) },
      { title: `Store (${load.sink})`, figures: store.figures },
    ],
    set: {
      partitions: pods.partitions,
      steadyPods: pods.steadyPods,
      maxPods: pods.maxPods,
      shmBytes: memory.shmBytes,
      workerMemoryBytes: memory.workerBytes,
    },
    warnings: [
      ...(load.isMeasured
        ? []
        : [
            `the rate of one GPU is an assumption (${load.gpuRate} chunks/s of 700 bytes, a model of 22 million parameters): measure yours and give --gpu-rate`,
          ]),
      ...(load.rate > 0 && pods.maxPods * pods.podRate <= load.rate
        ? [
            `${pods.maxPods} pods do the peak rate and no more: what an outage leaves is made up from the headroom only; give a higher --rate or --headroom`,
          ]
        : []),
      ...memory.warnings,
      ...store.warnings,
    ],
  };
}
