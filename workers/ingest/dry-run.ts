/** Reads and checks everything as a real run does, and ends each record at once: nothing is sent or written. */
import type { FileSource } from './file-source.ts';
import type { OpenFile } from './open-file.ts';
import { lettersOf } from './run.ts';

export async function checkFiles(source: FileSource, files: readonly OpenFile[], signal: AbortSignal): Promise<void> {
  const letters = lettersOf(files);
  const onRecords: Parameters<FileSource['run']>[0]['onRecords'] = (records) => {
    for (const record of records) {
      if (record.kind === 'reject') {
        const { raw, index, error } = record;
        void letters.send([{ raw, index, error, stage: 'decode', attempts: 1 }]);
        record.settle({ kind: 'dead-lettered', error });
      } else record.settle({ kind: 'persisted' });
    }
  };
  await source.run({ onRecords }, signal);
}
