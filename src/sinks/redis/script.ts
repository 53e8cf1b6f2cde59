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
-- What the key of a tombstone says of a write: true where it keeps it out; the error, a table, where it is of another type.
-- Its fields: 'partition:topic', the offset of the last deletion there; 'row:partition:topic', that of the last row there
-- that a deletion of another partition took.
local function is_deleted(tombstone, topic, partition, offset)
  local place = partition .. ':' .. topic
  local known = redis.pcall('HMGET', tombstone, place, 'row:' .. place)
  if known.err then return known end
  return (known[1] and less(offset, known[1])) or (known[2] and not less(known[2], offset)) or false
end
`;

const REMOVAL = `${GUARD}
local id, topic, partition, offset, prefix, now, retention = unpack(ARGV)
local place = partition .. ':' .. topic
local known = redis.call('HGET', KEYS[3], place)
-- Carried out before: then rows of other partitions came after it.
local repeated = known and not less(known, offset)
-- stored = { version, topic, partition, offset }
local function is_own(stored) return topic == stored[2] and partition == stored[3] end
local function may_delete(stored)
  return not is_older('', topic, partition, offset, stored) and (not repeated or is_own(stored))
end
local function mark(tombstone, field, value)
  redis.call('HSET', tombstone, field, value, 'deleted_at', now)
  redis.call('PEXPIRE', tombstone, retention)
end
-- The deletion's own mark says nothing about the partition of such a row.
local function mark_row(tombstone, stored)
  if not is_own(stored) then mark(tombstone, 'row:' .. stored[3] .. ':' .. stored[2], stored[4]) end
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
  mark_row(KEYS[3], stored)
end
if not repeated then mark(KEYS[3], place, offset) end
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
    -- Only to fail before the first change where the key is of another type.
    if not is_own(stored) then redis.call('HLEN', prefix .. 'tombstone:chunk:' .. chunk) end
    doomed[#doomed + 1] = { chunk, stored }
  else
    kept = kept + 1
  end
end
for _, chunk in ipairs(strangers) do redis.call('SREM', KEYS[1], chunk) end
for _, each in ipairs(doomed) do
  redis.call('SREM', KEYS[1], each[1])
  redis.call('DEL', prefix .. 'chunk:' .. each[1])
  mark_row(prefix .. 'tombstone:chunk:' .. each[1], each[2])
end
if #doomed > 0 then redis.call('HINCRBY', KEYS[2], 'rows', -#doomed) end
if not repeated then mark(KEYS[3], place, offset) end
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
