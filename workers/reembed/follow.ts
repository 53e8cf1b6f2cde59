/** The worker of a new collection, and beside it a look at its lag: it says when it has caught up, and goes on, or ends if that was all. */
import type { WorkerConfig } from '../../src/config/programs.ts';
import { asServingError } from '../../src/errors.ts';
import { KafkaAdmin } from '../../src/kafka/admin.ts';
import { createKafkaClient } from '../../src/kafka/client.ts';
import type { Log } from '../../src/telemetry/log.ts';
import type { Redactor } from '../../src/telemetry/redaction.ts';
import type { ExitCode } from '../exit-codes.ts';
import { every } from '../worker/every.ts';
import { runWorker } from '../worker/run.ts';

const LOOK_EVERY_MS = 1_000;
const SAY_EVERY_LOOKS = 15;

export async function follow(
  config: WorkerConfig,
  { untilCaughtUp }: { readonly untilCaughtUp: boolean },
  log: Log,
  redactor: Redactor,
  signal: AbortSignal,
): Promise<ExitCode> {
  const { consumerGroup, topic } = config.kafka;
  const admin = new KafkaAdmin(createKafkaClient({ ...config.kafka, clientId: config.workerId, log }));
  const enough = new AbortController();
  let looks = 0;
  let wasThere = false;
  const looking = every(LOOK_EVERY_MS, async () => {
    try {
      const partitions = await admin.lag(consumerGroup, topic);
      const lag = partitions.reduce((sum, one) => sum + one.lag, 0n);
      const isThere = lag === 0n;
      if (isThere && !wasThere) log.info('caught up with the topic', { group: consumerGroup });
      else if (!isThere && looks++ % SAY_EVERY_LOOKS === 0)
        log.info('following the topic', { group: consumerGroup, lag });
      wasThere = isThere;
      if (isThere && untilCaughtUp) enough.abort();
    } catch (error) {
      log.warn('the lag cannot be read', { error: asServingError(error) });
    }
  });
  try {
    return await runWorker(config, log, redactor, AbortSignal.any([signal, enough.signal]));
  } finally {
    looking.stop();
    await admin.close();
  }
}
