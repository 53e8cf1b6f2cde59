/** The promises of a sink, on this one. Run `npm run build` first, then `npm test`. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { sinkContract } from 'rag-inference-serving/sink-contract';
import { createSink } from './dist/sink.js';

const folder = mkdtempSync(join(tmpdir(), 'ndjson-sink-'));
after(() => rmSync(folder, { recursive: true, force: true }));

const quiet = { debug() {}, info() {}, warn() {}, error() {}, child: () => quiet };

const create = (collection) =>
  createSink({
    options: { folder, collection },
    tombstoneRetentionMs: 604_800_000,
    allowMixedFingerprints: false,
    log: quiet,
  });

for (const { name, run } of sinkContract({ create })) test(name, run);
