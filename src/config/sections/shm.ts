/** Shared memory between this process and the model server. */
import type { EnvReader } from '../env-reader.ts';
import { path } from '../file-types.ts';
import { choice, integer } from '../leaf-types.ts';
import { always, type ValuesOf } from '../setting.ts';

export const shmModes = ['auto', 'required', 'off'] as const;

export const shmSettings = {
  mode: choice('RAG_SERVING_SHM_MODE', shmModes, always('auto'), {
    doc: 'auto: shared memory when the model server accepts it, else tensors inside the gRPC message. required: stop when it does not. off: always inside the message.',
  }),
  basePath: path('RAG_SERVING_SHM_BASE_PATH', always('/dev/shm'), {
    doc: 'Mount that holds the shared-memory files; the model server must see the same one.',
  }),
  slots: integer(
    'RAG_SERVING_SHM_SLOTS',
    always(4),
    { min: 1, max: 256 },
    {
      doc: 'Slots of the region: each holds the tensors of one batch in flight.',
    },
  ),
  slotInputBytes: integer(
    'RAG_SERVING_SHM_SLOT_INPUT_BYTES',
    always(1_048_576),
    { min: 4_096, max: 268_435_456 },
    {
      doc: 'Bytes of texts that fit into a slot; a batch closes before it would not fit. At least RAG_SERVING_MAX_TEXT_BYTES + 4.',
    },
  ),
} as const;

export type ShmConfig = ValuesOf<typeof shmSettings>;

export function readShm(read: EnvReader): ShmConfig {
  return read.section(shmSettings);
}
