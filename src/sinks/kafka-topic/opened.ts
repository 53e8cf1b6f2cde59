/** What the log is told of a topic when it is opened. */
import type { TopicConfig } from '../../kafka/topic-config.ts';
import type { Log } from '../../telemetry/log.ts';
import type { ResolvedKafkaTopicOptions } from './options.ts';

type Opened = { readonly config: TopicConfig; readonly partitions: number };

export function tellOpened(log: Log, options: ResolvedKafkaTopicOptions, { config, partitions }: Opened): void {
  const { topic, format, compression } = options;
  log.info('kafka topic is open', { topic, partitions, format, compression, ...config });
  if (config.cleanupPolicy.includes('compact')) return;
  const advice = 'set cleanup.policy=compact to keep the last row of every chunk for as long as the topic lives';
  log.warn('kafka topic forgets rows by age or size', { topic, retentionMs: config.retentionMs, advice });
}
