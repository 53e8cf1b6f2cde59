/** The address in a Redis URL, or the error that names the setting it came from. */
import { judgeRedisUrl, type RedisAddress } from '../../config/redis-url.ts';
import { ServingError } from '../../errors.ts';

export function parseRedisUrl(raw: string, setting = 'RAG_SERVING_REDIS_URL'): RedisAddress {
  const judged = judgeRedisUrl(raw);
  if (judged.ok) return judged.value;
  throw new ServingError('CONFIG_INVALID', `${setting} ${judged.problem}`);
}
