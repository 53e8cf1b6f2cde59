/** `rag-serving doctor` as a person runs it, from dist/, and what it says of each check. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type CommandEnd, DlqWorld } from '../dlq/dlq-world.ts';
import type { Env } from '../worker/harness.ts';

export type Finding = {
  readonly name: string;
  readonly outcome: string;
  readonly found: string;
  readonly remedy: string | null;
};

export type Diagnosis = CommandEnd & { readonly of: (name: string) => Finding };

export class DoctorWorld extends DlqWorld {
  readonly folder = mkdtempSync(join(tmpdir(), 'rag-doctor-'));
  readonly table = join(this.folder, 'lance');

  /** Settings of a worker with LanceDB. */
  settings(target: string, more: Env = {}): Env {
    return { RAG_SERVING_BATCH_INGEST_GRPC_URL: target, RAG_SERVING_LANCEDB_PATH: this.table, ...more };
  }

  async diagnose(args: readonly string[], settings: Env): Promise<Diagnosis> {
    const end = await this.run(['doctor', '--json', ...args], settings);
    const report = end.lines.find(({ event }) => event === 'doctor') as unknown as {
      readonly checks: readonly Finding[];
    };
    if (report === undefined) throw new Error(`no report:\n${end.output}`);
    const of = (name: string) => {
      const found = report.checks.find((one) => one.name === name);
      if (found === undefined) throw new Error(`no check ${name}:\n${end.output}`);
      return found;
    };
    return { ...end, of };
  }

  override async close(): Promise<void> {
    await super.close();
    rmSync(this.folder, { recursive: true, force: true });
  }
}
