/**
 * Public surface for a sink of one's own (`rag-inference-serving/sink`): the port, the factory, and the decisions that every
 * sink makes alike. Importing it does nothing.
 */
export { type ErrorCode, type FailureClass, isServingError, ServingError } from '../errors.ts';
export { bytesPerVector, type VectorContract, type VectorDtype } from '../kserve/contract.ts';
export type { Deletion, JsonObject, JsonValue, SourcePosition } from '../records/chunk.ts';
export type { Log, LogFields } from '../telemetry/log.ts';
export { bounded, throwIfAborted } from './bounded.ts';
export {
  type CollectionContract,
  type CollectionName,
  contractMismatch,
  openForReading,
  type ReadContract,
  readContract,
} from './contract-check.ts';
export type { CreateSink, SinkModuleOptions } from './module/factory.ts';
export { planRemoval, planWrite, type RemovalPlan, type StoredKey, type WritePlan } from './plan.ts';
export { isNewerRevision, type Revision } from './revision.ts';
export { type ScreenedRows, screenRows } from './row-check.ts';
export { checkQuery, cosine, decodeVector, Nearest } from './similarity.ts';
export type {
  CollectionDescription,
  RowOutcome,
  ScanPage,
  SearchHit,
  SearchScope,
  Sink,
  SinkRow,
  StoredRow,
} from './sink.ts';
export { scopeOf } from './sink.ts';
export { type Mark, type Tombstone, Tombstones } from './tombstones.ts';
