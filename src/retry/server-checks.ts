/** Looks at how a Redis is set up, once it answers: one that may evict or forget jobs is no place to hand chunks over to. */
import type { Log } from '../telemetry/log.ts';
import { labelOf } from './redis-errors.ts';

/** `CONFIG GET name` as Redis answers it: name and value, one after the other. */
export type ReadConfig = (name: string) => Promise<readonly string[]>;

export type ServerSetup = {
  readonly maxmemoryPolicy: string | undefined;
  readonly appendonly: string | undefined;
  readonly save: string | undefined;
};

/** Undefined where the server does not tell: managed ones often forbid CONFIG. */
export async function readSetup(readConfig: ReadConfig, log: Log): Promise<ServerSetup> {
  const read = async (name: string) => {
    try {
      return (await readConfig(name))[1];
    } catch (error) {
      log.debug('the Redis of retries does not tell its settings', { name, reason: labelOf(error) });
      return undefined;
    }
  };
  return {
    maxmemoryPolicy: await read('maxmemory-policy'),
    appendonly: await read('appendonly'),
    save: await read('save'),
  };
}

export function setupWarnings({ maxmemoryPolicy, appendonly, save }: ServerSetup): readonly string[] {
  const warnings: string[] = [];
  if (maxmemoryPolicy !== undefined && maxmemoryPolicy !== 'noeviction') {
    warnings.push(`it may evict retries (maxmemory-policy is ${maxmemoryPolicy}): set noeviction`);
  }
  if (appendonly === 'no' && save === '') {
    warnings.push('it forgets retries when it restarts: set appendonly yes, or at least save points');
  }
  return warnings;
}
