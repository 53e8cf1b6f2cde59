/** Names of data types, for messages. */
import { DataTypeSchema } from '../../src/kserve/gen/model_config_pb.ts';

export function typeName(dataType: number): string {
  return DataTypeSchema.values.find(({ number }) => number === dataType)?.name ?? String(dataType);
}
