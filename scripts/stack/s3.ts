/**
 * Starts a real S3 server on 127.0.0.1: Versity's gateway over a folder, with signatures, multipart uploads and conditional
 * writes. It is built once by Go from the module in s3-server/, whose go.sum pins everything that goes into it.
 *
 * What the file system's extended attributes would hold lies in a folder beside the data: not every temp folder has them.
 */
import { createHash } from 'node:crypto';
import { mkdir, readFile } from 'node:fs/promises';
import { get } from 'node:http';
import { get as getTls } from 'node:https';
import { join } from 'node:path';
import { provision, type Report } from './cache.ts';
import { runCommand } from './command.ts';
import { dataFolder } from './data-folder.ts';
import { freePort } from './free-port.ts';
import { committedPath } from './package-root.ts';
import { type RunningServer, startServer } from './server-process.ts';

export type S3Options = {
  readonly port?: number;
  /** Created before the server is ready. */
  readonly bucket?: string;
  /** PEM files; the server then speaks TLS. */
  readonly tls?: { readonly certPath: string; readonly keyPath: string };
  readonly onLine?: Report;
};

export type RunningS3 = RunningServer & {
  readonly url: string;
  readonly port: number;
  readonly bucket: string;
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  /** Where the objects lie as plain files: `join(objectsDir, key)`. */
  readonly objectsDir: string;
};

const PACKAGE = 'github.com/versity/versitygw/cmd/versitygw';
const BUILD_TIMEOUT_MS = 15 * 60_000;
const QUESTION_TIMEOUT_MS = 2_000;

export async function startS3(options: S3Options = {}): Promise<RunningS3> {
  const program = await s3Program(options.onLine ?? (() => undefined));
  const port = options.port ?? (await freePort());
  const bucket = options.bucket ?? 'models';
  const dataDir = await dataFolder('s3', undefined);
  const objects = join(dataDir, 'objects');
  const attributes = join(dataDir, 'attributes');
  const accounts = join(dataDir, 'accounts');
  const { tls } = options;
  const url = `${tls === undefined ? 'http' : 'https'}://127.0.0.1:${port}`;
  const key = { accessKeyId: 'local-stack', secretAccessKey: 'local-stack-secret' };
  const server = await startServer({
    name: 's3',
    command: program,
    args: [
      ...['--port', `127.0.0.1:${port}`, '--health', '/health', '--quiet', '--iam-dir', accounts],
      // Otherwise each answer closes its connection, as no S3 does.
      '--keep-alive',
      ...(tls === undefined ? [] : ['--cert', tls.certPath, '--key', tls.keyPath]),
      ...['posix', '--sidecar', attributes, objects],
    ],
    env: {
      PATH: process.env.PATH,
      HOME: dataDir,
      ROOT_ACCESS_KEY_ID: key.accessKeyId,
      ROOT_SECRET_ACCESS_KEY: key.secretAccessKey,
    },
    ports: [port],
    dataDir,
    // A folder is a bucket.
    prepare: async () => {
      for (const folder of [join(objects, bucket), attributes, accounts]) await mkdir(folder, { recursive: true });
    },
    probe: () => askHealth(`${url}/health`),
    readyTimeoutMs: 15_000,
    stopTimeoutMs: 5_000,
  });
  return Object.assign(server, { url, port, bucket, ...key, objectsDir: join(objects, bucket) });
}

/** Path of the server program; built when it is not in the cache. */
export async function s3Program(report: Report): Promise<string> {
  const source = committedPath('scripts/stack/s3-server');
  const pins = createHash('sha256')
    .update(await readFile(join(source, 'go.mod')))
    .update(await readFile(join(source, 'go.sum')))
    .digest('hex')
    .slice(0, 12);
  const folder = await provision(
    `s3-server-${pins}`,
    async (into) => {
      report('s3: building the server, which takes Go some minutes the first time');
      const flags = ['-mod=readonly', '-trimpath', '-ldflags=-s -w', '-o', join(into, 'versitygw')];
      await runCommand('go', ['build', '-C', source, ...flags, PACKAGE], {
        install:
          'the S3 server of the local stack is built with Go 1.26 or newer: install it ("apt-get install golang")',
        timeoutMs: BUILD_TIMEOUT_MS,
      });
    },
    report,
  );
  return join(folder, 'versitygw');
}

/** Whatever its certificate says: this asks only whether it is up. */
function askHealth(url: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const options = { timeout: QUESTION_TIMEOUT_MS, rejectUnauthorized: false, agent: false };
    const request = (url.startsWith('https') ? getTls : get)(url, options, (response) => {
      response.resume();
      if (response.statusCode === 200) resolve();
      else reject(new Error(`/health answers ${response.statusCode}`));
    });
    request.once('timeout', () => request.destroy(new Error('no answer to /health')));
    request.once('error', reject);
  });
}
