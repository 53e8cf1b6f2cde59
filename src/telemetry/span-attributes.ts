/**
 * Every attribute that a span or a link of ours can have. A closed list: values are names of settings, counts, closed lists
 * and error codes, so that they cannot hold a text, and few enough to group by.
 *
 * Names without `rag_serving.` are those of the OpenTelemetry semantic conventions, written down here because most of them are
 * experimental there and the package asks not to depend on them. A test compares them with the package.
 */
export const attributeNames = [
  'error.type',

  'messaging.system',
  // Its new name; both, until what reads them has moved on.
  'messaging.system.name',
  'messaging.operation.name',
  'messaging.operation.type',
  'messaging.destination.name',
  'messaging.destination.partition.id',
  'messaging.consumer.group.name',
  'messaging.client.id',
  'messaging.batch.message_count',
  'messaging.kafka.offset',

  'rpc.system.name',
  'rpc.method',
  'rpc.status_code',

  'db.system.name',
  'db.operation.name',
  'db.operation.batch.size',

  'gen_ai.operation.name',
  'gen_ai.request.model',

  'rag_serving.pool',
  'rag_serving.rows',
  'rag_serving.source',
  'rag_serving.degraded',
  'rag_serving.batch.closed_by',
  'rag_serving.chunks.persisted',
  'rag_serving.chunks.deleted',
  'rag_serving.chunks.superseded',
  'rag_serving.chunks.handed_over',
  'rag_serving.chunks.dead_lettered',
  'rag_serving.chunks.abandoned',
] as const;

export type AttributeName = (typeof attributeNames)[number];
