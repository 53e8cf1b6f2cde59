/** What every command that asks a broker begins with: its settings, a quiet log, a client that is closed however it ends. */
import type { ProduceConfig } from '../../src/config/tool-programs.ts';
import { KafkaAdmin } from '../../src/kafka/admin.ts';
import { createKafkaClient, type KafkaClient } from '../../src/kafka/client.ts';
import type { Log } from '../../src/telemetry/log.ts';
import type { ExitCode } from '../exit-codes.ts';
import { interruptible } from './interruptible.ts';
import { printWarnings, toolLog } from './tool-log.ts';

export type KafkaTool = { readonly client: KafkaClient; readonly admin: KafkaAdmin; readonly log: Log };

export function withKafkaTool(
  config: ProduceConfig,
  service: string,
  work: (tool: KafkaTool, signal: AbortSignal) => Promise<ExitCode>,
): Promise<ExitCode> {
  printWarnings(config);
  const log = toolLog(config, service);
  const client = createKafkaClient({ ...config.kafka, clientId: service, log });
  const admin = new KafkaAdmin(client);
  return interruptible(async (signal) => {
    try {
      return await work({ client, admin, log }, signal);
    } finally {
      await admin.close();
    }
  });
}
