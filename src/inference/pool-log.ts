/** What a log says of the servers of a pool and of its TLS files: the same words in every program. */
import type { Log, LogFields } from '../telemetry/log.ts';
import type { PoolEvent } from './endpoint-pool.ts';
import type { TlsFilesEvents } from './tls-files.ts';

export function logPoolEvent(log: Log, event: PoolEvent, fields: LogFields = {}): void {
  switch (event.kind) {
    case 'joined':
    case 'left': {
      const { kind, server, endpoint } = event;
      log.info(kind === 'joined' ? 'model server joined' : 'model server left', { server, endpoint, ...fields });
      break;
    }
    case 'unresolved': {
      const { endpoint, error } = event;
      log.warn('addresses cannot be looked up, those known are kept', { endpoint, error, ...fields });
      break;
    }
    case 'renewal-refused':
      log.warn('no connection with the new TLS files, the old one is kept', { server: event.server, ...fields });
      break;
  }
}

export function tlsFilesLog(log: Log): TlsFilesEvents {
  return {
    onRotated: () => log.info('TLS files were rotated, connections are renewed'),
    onProblems: (problems) => log.error('TLS files are no good, those before go on', { problems }),
  };
}
