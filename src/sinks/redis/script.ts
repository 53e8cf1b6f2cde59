/**
 * What happens inside Redis, so that comparing revisions and writing are one step: each script repeats `isNewerRevision`.
 *
 * Versions and offsets are compared as decimal strings, longer first: Lua's numbers are doubles and would take
 * 9007199254740993 for 9007199254740992. All type errors (WRONGTYPE) come before the first change. The scripts reach keys
 * they build from the prefix, so this is for one server or a primary with replicas, not for Redis Cluster.
 */
import { createHash } from 'node:crypto';

export type RedisScript = { readonly lua: string; readonly sha: string };

/** Lua that every script begins with that compares revisions. */
export const GUARD = `
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
-- Offset of the last deletion in this partition of the id that the key stands for; false where there is none, a table
-- with the error where the key is of another type.
local function deleted_at(tombstone, topic, partition)
  return redis.pcall('HGET', tombstone, partition .. ':' .. topic)
end
`;

const REMOVAL = `${GUARD}
local id, topic, partition, offset, prefix, now, retention = unpack(ARGV)
local known = deleted_at(KEYS[3], topic, partition)
if type(known) == 'table' then return known end
-- Carried out before: then rows of other partitions came after it.
local repeated = known and not less(known, offset)
-- stored = { version, topic, partition, offset }
local function may_delete(stored)
  if is_older('', topic, partition, offset, stored) then return false end
  return not repeated or (topic == stored[2] and partition == stored[3])
end
local function remember()
  if repeated then return end
  redis.call('HSET', KEYS[3], partition .. ':' .. topic, offset, 'deleted_at', now)
  redis.call('PEXPIRE', KEYS[3], retention)
end
`;

/**
 * KEYS chunk, meta, tombstone. ARGV id, topic, partition, offset, key prefix, time, retention (ms).
 * 1 deleted or not there, 0 superseded. What shrinks comes first: a Redis that is full still takes it.
 */
export const removeChunkScript = script(`${REMOVAL}
local stored = redis.call('HMGET', KEYS[1], 'version', 'topic', 'partition', 'offset', 'document_id')
local doomed = stored[2] and may_delete(stored)
if doomed then
  redis.call('SREM', prefix .. 'doc:' .. stored[5], id)
  redis.call('DEL', KEYS[1])
  redis.call('HINCRBY', KEYS[2], 'rows', -1)
end
remember()
return (doomed or not stored[2]) and 1 or 0
`);

/** KEYS document, meta, tombstone. ARGV as above. 1 deleted or nothing there, 0 all superseded. */
export const removeDocumentScript = script(`${REMOVAL}
local kept, doomed, strangers = 0, {}, {}
for _, chunk in ipairs(redis.call('SMEMBERS', KEYS[1])) do
  local stored = redis.call('HMGET', prefix .. 'chunk:' .. chunk, 'version', 'topic', 'partition', 'offset', 'document_id')
  -- A chunk that moved to another document stays in the set of its old one until that is deleted.
  if not stored[2] or stored[5] ~= id then
    strangers[#strangers + 1] = chunk
  elseif may_delete(stored) then
    doomed[#doomed + 1] = chunk
  else
    kept = kept + 1
  end
end
for _, chunk in ipairs(strangers) do redis.call('SREM', KEYS[1], chunk) end
for _, chunk in ipairs(doomed) do
  redis.call('SREM', KEYS[1], chunk)
  redis.call('DEL', prefix .. 'chunk:' .. chunk)
end
if #doomed > 0 then redis.call('HINCRBY', KEYS[2], 'rows', -#doomed) end
remember()
return (kept > 0 and #doomed == 0) and 0 or 1
`);

/** KEYS meta. ARGV fingerprint, dims, dtype, stored dtype. Claims an empty collection; gives what the collection has, and 1 when it was new. */
export const claimScript = script(`
local stored = redis.call('HMGET', KEYS[1], 'fingerprint', 'dims', 'dtype', 'stored_dtype')
if stored[1] then return { stored[1], stored[2], stored[3], stored[4], 0 } end
redis.call('HSET', KEYS[1], 'fingerprint', ARGV[1], 'dims', ARGV[2], 'dtype', ARGV[3], 'stored_dtype', ARGV[4])
return { ARGV[1], ARGV[2], ARGV[3], ARGV[4], 1 }
`);

export function script(lua: string): RedisScript {
  return { lua, sha: createHash('sha1').update(lua).digest('hex') };
}
