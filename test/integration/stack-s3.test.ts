/** The local S3 server: what its users rely on. */
import { existsSync } from 'node:fs';
import { expect, test } from 'vitest';
import { startS3 } from '../../scripts/stack/s3.ts';

test('answers on 127.0.0.1 only to who signs, closes when stopped and leaves nothing', async () => {
  const server = await startS3({ bucket: 'one' });
  try {
    expect(server.bucket).toBe('one');
    expect((await fetch(`${server.url}/health`)).status).toBe(200);
    expect((await fetch(`${server.url}/one?list-type=2`)).status).toBe(403);
    expect(existsSync(server.objectsDir)).toBe(true);
  } finally {
    await server.stop();
  }
  expect(existsSync(server.dataDir)).toBe(false);
  await expect(fetch(`${server.url}/health`)).rejects.toThrow();
});
