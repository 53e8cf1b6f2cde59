/** The TLS files of the model servers, as every program uses them: read again when they are rotated, told in its log. */
import { type InferenceTls, inferenceSettings } from '../src/config/sections/inference.ts';
import { tlsFilesLog } from '../src/inference/pool-log.ts';
import { TlsFiles } from '../src/inference/tls-files.ts';
import type { Log } from '../src/telemetry/log.ts';

/** Undefined without TLS. */
export function modelServerTls(tls: InferenceTls | undefined, log: Log): TlsFiles | undefined {
  if (tls === undefined) return undefined;
  const { caPath, certPath, keyPath } = inferenceSettings;
  const { serverNameOverride, ...paths } = tls;
  return new TlsFiles({
    paths,
    serverName: serverNameOverride,
    settings: { caPath: caPath.name, certPath: certPath.name, keyPath: keyPath.name },
    events: tlsFilesLog(log),
  });
}
