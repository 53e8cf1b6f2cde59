/** Settings of a topic that a writer must know. */
import kafkajs from 'kafkajs';
import type { KafkaAdmin } from './admin.ts';

export type TopicConfig = {
  /** `max.message.bytes`: of a batch, and so of a record. */
  readonly maxMessageBytes: number;
  readonly cleanupPolicy: string;
  readonly retentionMs: string;
};

export function readTopicConfig(admin: KafkaAdmin, topic: string): Promise<TopicConfig> {
  return admin.ask(`read settings of topic ${topic}`, async (client) => {
    const names = ['max.message.bytes', 'cleanup.policy', 'retention.ms'];
    const type = kafkajs.ConfigResourceTypes.TOPIC;
    const { resources } = await client.describeConfigs({
      includeSynonyms: false,
      resources: [{ type, name: topic, configNames: names }],
    });
    const values = new Map(resources[0]?.configEntries.map(({ configName, configValue }) => [configName, configValue]));
    return {
      maxMessageBytes: Number(values.get('max.message.bytes') ?? 1_048_588),
      cleanupPolicy: values.get('cleanup.policy') ?? 'delete',
      retentionMs: values.get('retention.ms') ?? '-1',
    };
  });
}
