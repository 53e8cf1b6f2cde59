import { afterAll } from 'vitest';
import { S3Storage } from '../../../src/registry/s3/s3-storage.ts';
import { s3OptionsOf } from '../../support/s3-options.ts';
import { useS3 } from '../../support/stack.ts';
import { describeStorage } from './storage-contract.ts';

const s3 = useS3();
const opened: S3Storage[] = [];

afterAll(() => {
  for (const storage of opened) storage.close();
});

describeStorage({
  name: 'S3',
  open: () => {
    const storage = new S3Storage(s3OptionsOf(s3(), { prefix: `registry-${opened.length}/` }));
    opened.push(storage);
    return storage;
  },
});
