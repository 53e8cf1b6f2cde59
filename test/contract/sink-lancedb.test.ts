/** The sink contract on a real LanceDB folder. */
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect } from '@lancedb/lancedb';
import { afterAll } from 'vitest';
import { systemClock } from '../../src/clock.ts';
import { createSink } from '../../src/sinks/registry.ts';
import { silentLog } from '../../src/telemetry/log.ts';
import { describeSinkContract, type SinkHarness } from './sink-contract.ts';
import { describeSinkScan } from './sink-contract-scan.ts';

const folder = mkdtempSync(join(tmpdir(), 'rag-lancedb-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const harness: SinkHarness = {
  durable: true,
  traces: async (table) => readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((p) => p.includes(table)),
  plantForeign: async (table) => {
    const connection = await connect(folder);
    (await connection.createTable(table, [{ theirs: 1 }])).close();
    connection.close();
  },
  create: (table, options) =>
    createSink({ name: 'lancedb', options: { uri: folder, table, ...options } }, silentLog, systemClock),
};
describeSinkContract('lancedb', harness);
describeSinkScan('lancedb', harness);
