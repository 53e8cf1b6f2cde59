/**
 * What happens inside Redis, so that comparing revisions and writing are one step: each script repeats `isNewerRevision`.
 *
 * Versions and offsets are compared as decimal strings, longer first: Lua's numbers are doubles and would take
 * 9007199254740993 for 9007199254740992. All type errors (WRONGTYPE) come before the first change. The scripts reach keys
 * they build from the prefix, so this is for one server or a primary with replicas, not for Redis Cluster.
 */
import { createHash } from 'node:crypto';

export type RedisScript = { readonly lua: string; readonly sha: string };

const GUARD = `
local function less(a, b)
  if #a ~= #b then return #a < #b end
  return a < b
end
-- stored = { version, topic, partition, offset }; false where a field is missing
local function is_older(version, topic, partition, offset, stored)
  if version ~= '' and stored[1] and version ~= stored[1] then return less(version, stored[1]) end
  if topic == stored[2] and partition == stored[3] then return less(offset, stored[4]) end
  return false
end
`;

/** Fields of a chunk's hash that travel in the header of `writeScript`, in its order. `vector` and `text` come beside it. */
export const HEADER_FIELDS = [
  'chunk_id',
  'document_id',
  'tenant_id',
  'dims',
  'dtype',
  'fingerprint',
  'text_sha256',
  'truncated',
  'metadata',
  'topic',
  'partition',
  'offset',
  'version',
  'embedded_at',
] as const;

/**
 * KEYS chunk, document, meta. ARGV header, vector, text where there is one. 1 stored, 0 superseded.
 * The header is a JSON array of strings, null where the row has no such field: ioredis pays for each argument, so thirty
 * of them would cost more than all the rest.
 */
export const writeScript = script(`${GUARD}
local names = { ${HEADER_FIELDS.map((name) => `'${name}'`).join(', ')} }
local row = cjson.decode(ARGV[1])
local fields, value_of = { 'vector', ARGV[2] }, {}
for index, name in ipairs(names) do
  local value = row[index]
  if value ~= cjson.null then
    value_of[name] = value
    fields[#fields + 1] = name
    fields[#fields + 1] = value
  end
end
if ARGV[3] then
  fields[#fields + 1] = 'text'
  fields[#fields + 1] = ARGV[3]
end
local stored = redis.call('HMGET', KEYS[1], 'version', 'topic', 'partition', 'offset')
if stored[2] and is_older(value_of.version or '', value_of.topic, value_of.partition, value_of.offset, stored) then return 0 end
redis.call('SADD', KEYS[2], value_of.chunk_id)
-- A field that the new revision does not have must not survive from the old one.
redis.call('DEL', KEYS[1])
redis.call('HSET', KEYS[1], unpack(fields))
if not stored[2] then redis.call('HINCRBY', KEYS[3], 'rows', 1) end
return 1
`);

/** KEYS chunk, meta. ARGV chunk id, topic, partition, offset, key prefix. 1 deleted or not there, 0 superseded. */
export const removeChunkScript = script(`${GUARD}
local stored = redis.call('HMGET', KEYS[1], 'version', 'topic', 'partition', 'offset', 'document_id')
if not stored[2] then return 1 end
if is_older('', ARGV[2], ARGV[3], ARGV[4], stored) then return 0 end
redis.call('SREM', ARGV[5] .. 'doc:' .. stored[5], ARGV[1])
redis.call('DEL', KEYS[1])
redis.call('HINCRBY', KEYS[2], 'rows', -1)
return 1
`);

/** KEYS document, meta. ARGV document id, topic, partition, offset, key prefix. 1 deleted or nothing there, 0 all superseded. */
export const removeDocumentScript = script(`${GUARD}
local kept, deleted = 0, 0
for _, id in ipairs(redis.call('SMEMBERS', KEYS[1])) do
  local key = ARGV[5] .. 'chunk:' .. id
  local stored = redis.call('HMGET', key, 'version', 'topic', 'partition', 'offset', 'document_id')
  -- A chunk that moved to another document stays in the set of its old one until that is deleted.
  local ours = stored[2] and stored[5] == ARGV[1]
  if ours and is_older('', ARGV[2], ARGV[3], ARGV[4], stored) then
    kept = kept + 1
  else
    redis.call('SREM', KEYS[1], id)
    if ours then
      redis.call('DEL', key)
      redis.call('HINCRBY', KEYS[2], 'rows', -1)
      deleted = deleted + 1
    end
  end
end
if kept > 0 and deleted == 0 then return 0 end
return 1
`);

/** KEYS meta. ARGV fingerprint, dims, dtype, stored dtype. Claims an empty collection; gives what the collection has, and 1 when it was new. */
export const claimScript = script(`
local stored = redis.call('HMGET', KEYS[1], 'fingerprint', 'dims', 'dtype', 'stored_dtype')
if stored[1] then return { stored[1], stored[2], stored[3], stored[4], 0 } end
redis.call('HSET', KEYS[1], 'fingerprint', ARGV[1], 'dims', ARGV[2], 'dtype', ARGV[3], 'stored_dtype', ARGV[4])
return { ARGV[1], ARGV[2], ARGV[3], ARGV[4], 1 }
`);

export const allScripts: readonly RedisScript[] = [writeScript, removeChunkScript, removeDocumentScript, claimScript];

function script(lua: string): RedisScript {
  return { lua, sha: createHash('sha1').update(lua).digest('hex') };
}
