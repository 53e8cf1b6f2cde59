/** The worker's own numbers, read from its /metrics as any Prometheus would. */
export type WorkerNumbers = {
  readonly persisted: number;
  readonly deadLetters: number;
  readonly shmBatches: number;
  readonly inlineBatches: number;
};

export async function readWorkerNumbers(port: number): Promise<WorkerNumbers> {
  const response = await fetch(`http://127.0.0.1:${port}/metrics`, { signal: AbortSignal.timeout(5_000) });
  const text = await response.text();
  return {
    persisted: total(text, 'rag_serving_chunks_total', 'outcome="persisted"'),
    deadLetters: total(text, 'rag_serving_dead_letters_total'),
    shmBatches: total(text, 'rag_serving_batches_total', 'transport="shared_memory"'),
    inlineBatches: total(text, 'rag_serving_batches_total', 'transport="inline"'),
  };
}

function total(exposition: string, name: string, label = ''): number {
  return exposition
    .split('\n')
    .filter((line) => line.startsWith(name) && line.includes(label))
    .reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' ') + 1)), 0);
}
