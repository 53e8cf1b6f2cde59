/** How long the configured certificates are good for. One that has run out is a wrong setting and never comes here. */
import { X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import type { WorkerConfig } from '../../../src/config/programs.ts';
import type { SinkConfig } from '../../../src/config/sections/sink.ts';
import { type Outcome, ok, skipped, warn } from '../check.ts';

const DAY_MS = 86_400_000;
const SOON_DAYS = 30;
const CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/g;

export type Expiry = { readonly path: string; readonly untilMs: number };

export function certificatesVerdict(expiries: readonly Expiry[], nowMs: number): Outcome {
  if (expiries.length === 0) return skipped('no certificate is configured');
  const days = ({ untilMs }: Expiry) => Math.floor((untilMs - nowMs) / DAY_MS);
  const said = (one: Expiry) =>
    `${one.path} until ${new Date(one.untilMs).toISOString().slice(0, 10)} (${days(one)} days)`;
  const soon = expiries.filter((one) => days(one) < SOON_DAYS);
  if (soon.length === 0) return ok(expiries.map(said).join('\n'));
  return warn(soon.map(said).join('\n'), 'renew them: connections fail when they have run out');
}

export async function lookAtCertificates(config: WorkerConfig, nowMs: number): Promise<Outcome> {
  const files = [...new Set(certificateFiles(config))];
  const read = await Promise.all(
    files.map(async (path) => ({ path, untilMs: expiryOf(await readFile(path, 'utf8')) })),
  );
  return certificatesVerdict(read, nowMs);
}

/** Of a bundle the last to run out: it keeps the old authorities for a while. */
function expiryOf(pem: string): number {
  return Math.max(...(pem.match(CERTIFICATE) ?? []).map((one) => Date.parse(new X509Certificate(one).validTo)));
}

function certificateFiles({ kafka, schemas, inference, retry, sink }: WorkerConfig): readonly string[] {
  const { tls } = inference;
  const paths = [kafka.tls?.caPath, kafka.tls?.certPath, tls?.caPath, tls?.certPath, retry.durable?.caPath];
  return [...paths, schemas?.tls.caPath, schemas?.tls.certPath, ...storeFiles(sink)].filter(
    (path) => path !== undefined,
  );
}

function storeFiles(sink: SinkConfig): readonly (string | undefined)[] {
  switch (sink.kind) {
    case 'redis':
      return [sink.caPath];
    case 'pgvector':
      return [sink.tls.caPath, sink.tls.certPath];
    case 'fan-out':
      return sink.members.flatMap(storeFiles);
    default:
      return [];
  }
}
