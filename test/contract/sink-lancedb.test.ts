/** The sink contract on a real LanceDB folder. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll } from 'vitest';
import { systemClock } from '../../src/clock.ts';
import { createSink } from '../../src/sinks/registry.ts';
import { silentLog } from '../../src/telemetry/log.ts';
import { describeSinkContract } from './sink-contract.ts';

const folder = mkdtempSync(join(tmpdir(), 'rag-lancedb-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describeSinkContract('lancedb', {
  durable: true,
  create: (table, options) =>
    createSink({ name: 'lancedb', options: { uri: folder, table, ...options } }, silentLog, systemClock),
});
