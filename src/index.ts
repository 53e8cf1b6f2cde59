/** Public surface of the library: the ports, to write an implementation of one's own, and what they are made of. */
export { type ErrorCode, errorCodes, type FailureClass, isServingError, ServingError } from './errors.ts';
export type { CallOptions, InferenceClient, ModelDescription, SharedMemoryRegion } from './inference/client.ts';
export { bytesPerVector, type VectorContract, type VectorDtype } from './kserve/contract.ts';
export type { InferRequest, InferResponse, InputTensor, OutputRequest, OutputTensor } from './kserve/tensor.ts';
export type { ChunkRecord, Deletion, JsonObject, SourcePosition } from './records/chunk.ts';
export {
  decodeEmbeddingRecord,
  type EmbeddingRecord,
  type RecordContract,
  type TopicRecord,
} from './sinks/kafka-topic/record.ts';
export { isNewerRevision, type Revision } from './sinks/revision.ts';
export type { RowOutcome, SearchHit, Sink, SinkRow, StoredRow } from './sinks/sink.ts';
