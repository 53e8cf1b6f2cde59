/** An ops server with answers of its own, and requests that are sent as they are written. */
import { type Agent, request as httpRequest } from 'node:http';
import type { OpsServerOptions } from '../../../src/ops/options.ts';
import { type OpsServer, startOpsServer } from '../../../src/ops/server.ts';
import type { StatusSnapshot } from '../../../src/ops/status-schema.ts';
import { createMetrics } from '../../../src/telemetry/metrics.ts';

const open: OpsServer[] = [];

/** For `afterEach`. */
export async function closeServers(): Promise<void> {
  await Promise.all(open.splice(0).map((server) => server.close()));
}

export function answers(more: Partial<OpsServerOptions> = {}): OpsServerOptions {
  const metrics = createMetrics({ pool: 'batch_ingestion' });
  return {
    host: '127.0.0.1',
    port: 0,
    apiKey: undefined,
    snapshot: () => ({ phase: 'running', checks: [{ name: 'kafka', state: 'pass', reason: undefined, sinceMs: 0 }] }),
    status: () => sampleStatus(),
    metrics,
    redact: (text) => text,
    ...more,
  };
}

export async function start(more: Partial<OpsServerOptions> = {}): Promise<OpsServer> {
  const server = await startOpsServer(answers(more));
  open.push(server);
  return server;
}

export type Answer = { status: number; headers: Record<string, unknown>; body: string };

export function fetchRaw(
  port: number,
  path: string,
  headers: readonly string[] = [],
  method = 'GET',
  agent?: Agent,
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const all = ['host', `127.0.0.1:${port}`, ...headers];
    const options = { host: '127.0.0.1', port, path, method, headers: all, ...(agent === undefined ? {} : { agent }) };
    const sent = httpRequest(options, (response) => {
      let body = '';
      response.on('data', (part) => (body += part));
      response.on('end', () => resolve({ status: response.statusCode ?? 0, headers: response.headers, body }));
    });
    sent.on('error', reject);
    sent.end();
  });
}

/** Every field filled in. */
export function sampleStatus(): StatusSnapshot {
  const at = '2030-01-01T00:00:00.000Z';
  return {
    at,
    program: 'worker',
    pool: 'batch_ingestion',
    worker: 'worker-0',
    version: '0.1.0',
    uptimeSeconds: 12.5,
    phase: 'running',
    phaseSince: at,
    ready: false,
    checks: [{ name: 'store', state: 'fail', ok: false, reason: 'away', since: at }],
    modelServer: {
      target: 'localhost:8001',
      models: [
        {
          name: 'batch_embedder_ensemble',
          state: 'not_ready',
          reason: 'not loaded',
          fingerprint: 'minilm@1',
          dims: 384,
          maxBatch: 256,
          gpuBytes: 1_048_576,
        },
      ],
      breakers: [{ endpoint: 'localhost:8001', state: 'open', since: at }],
    },
    vram: {
      state: 'over_utilization',
      reason: 'GPU 0 is full',
      utilization: 0.9,
      maxUtilization: 0.85,
      staticBytes: 20,
      maxStaticBytes: 21,
      staticSource: 'floor',
      capacityBytes: 24,
      gpus: [{ gpu: 'GPU-0', usedBytes: 22, totalBytes: 24, utilization: 0.9, staticBytes: null }],
    },
    ingest: {
      chunks: { persisted: 5, deleted: 0, superseded: 1, 'handed-over': 0, 'dead-lettered': 1, abandoned: 0 },
      chunksPerSecond: 0.5,
      inFlight: { chunks: 2, bytes: 2_000 },
      joined: true,
      paused: ['sink'],
      waiting: { 'in-flight limit': 1 },
      lag: { messages: 7, at },
      partitions: [{ partition: 0, lag: 7, committed: '9007199254740993', end: '9007199254741000' }],
      transport: 'shared_memory',
      slots: { free: 3, leased: 1, quarantined: 0 },
      retries: { delayed: 1, waiting: 0, active: 0 },
      deadLetters: {
        total: 1,
        byCode: [{ code: 'CHUNK_INVALID', count: 1 }],
        last: [{ code: 'CHUNK_INVALID', stage: 'decode', at }],
      },
      history: [{ at, chunksPerSecond: 0.5, lag: null }],
    },
  };
}
