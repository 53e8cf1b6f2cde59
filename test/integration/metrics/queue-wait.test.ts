/** More queries than a real Triton can embed at once: they wait in the queue of the model, the alert fires, and clears afterwards. */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { RunningPrometheus } from '../../../scripts/stack/prometheus.ts';
import { useTriton } from '../../support/stack.ts';
import { eventually } from '../worker/harness.ts';
import { firing, watch } from './watched-world.ts';

const ALERT = 'RagServingEmbedQueueWait';
const CALLERS = 64;

const triton = useTriton({ models: ['online_embedder_ensemble'] });
let prometheus: RunningPrometheus;

beforeAll(async () => {
  prometheus = await watch({ triton: [new URL(triton().metricsUrl).host] });
});
afterAll(() => prometheus?.stop());

async function embed(text: string): Promise<void> {
  const response = await fetch(`${triton().httpUrl}/v2/models/online_embedder_ensemble/infer`, {
    method: 'POST',
    body: JSON.stringify({
      inputs: [{ name: 'TEXT', datatype: 'BYTES', shape: [1, 1], data: [text] }],
      outputs: [{ name: 'EMBEDDING', parameters: { binary_data: true } }],
    }),
  });
  await response.arrayBuffer();
  expect(response.status).toBe(200);
}

it('fires while queries wait, and clears when they do not', { timeout: 180_000 }, async () => {
  await embed('one alone');
  await sleep(2_500);
  expect(await firing(prometheus)).toEqual([]);
  let flooding = true;
  const callers = Array.from({ length: CALLERS }, async (_, caller) => {
    for (let i = 0; flooding; i++) await embed(`query ${i} of caller ${caller}`);
  });
  try {
    await eventually(`${ALERT} fires`, async () => (await firing(prometheus)).includes(ALERT), 60_000, 500);
    const alert = (await prometheus.alerts()).find(({ name }) => name === ALERT);
    expect(alert?.annotations.runbook_url).toBe('docs/runbooks/queue-wait.md');
  } finally {
    flooding = false;
    await Promise.all(callers);
  }
  // Its window is a minute: for as long the last queries count.
  await eventually(`${ALERT} clears`, async () => !(await firing(prometheus)).includes(ALERT), 90_000, 1_000);
});
