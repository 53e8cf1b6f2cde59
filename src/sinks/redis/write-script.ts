/**
 * Many rows in one call of one script: what travels, and what Redis does with it.
 *
 * Surprising: the price of a write is its arguments. ioredis pays several microseconds for each, so a batch is three:
 * a JSON header, all vectors, all texts, which the script slices. And a script is asked for memory only when it begins:
 * a full Redis would take a whole batch on top, so a batch is bounded in bytes too.
 */
import type { VectorContract, VectorDtype } from '../../kserve/contract.ts';
import type { SinkRow } from '../sink.ts';
import type { ScriptCall } from './commands.ts';
import { HEADER_FIELDS, rowFields, toBlob } from './rows.ts';
import { GUARD, script } from './script.ts';

const MAX_ROWS = 64;
const MAX_BYTES = 262_144;

export type WriteTarget = {
  readonly prefix: string;
  readonly metaKey: string;
  readonly contract: VectorContract;
  readonly storedDtype: VectorDtype;
};

/** In order; together they hold each row once. */
export function writeCalls(rows: readonly SinkRow[], target: WriteTarget): ScriptCall[] {
  const calls: ScriptCall[] = [];
  let batch: Packed[] = [];
  let bytes = 0;
  for (const row of rows) {
    const packed = pack(row, target);
    if (batch.length === MAX_ROWS || (batch.length > 0 && bytes + packed.bytes > MAX_BYTES)) {
      calls.push(callOf(batch, target));
      batch = [];
      bytes = 0;
    }
    batch.push(packed);
    bytes += packed.bytes;
  }
  if (batch.length > 0) calls.push(callOf(batch, target));
  return calls;
}

type Packed = {
  readonly fields: readonly (string | null)[];
  readonly blob: Buffer;
  readonly text: string | undefined;
  readonly textBytes: number;
  readonly bytes: number;
};

function pack(row: SinkRow, { contract, storedDtype }: WriteTarget): Packed {
  const blob = toBlob(row.vector, contract.dtype, storedDtype);
  const textBytes = row.text === undefined ? 0 : Buffer.byteLength(row.text);
  const fields = rowFields(row, contract, storedDtype);
  return { fields, blob, text: row.text, textBytes, bytes: blob.length + textBytes };
}

function callOf(batch: readonly Packed[], { prefix, metaKey }: WriteTarget): ScriptCall {
  const header = batch.map(({ fields, text, textBytes }) => [...fields, text === undefined ? null : textBytes]);
  return {
    script: writeScript,
    rows: batch.length,
    keys: [metaKey],
    args: [
      prefix,
      JSON.stringify(header),
      Buffer.concat(batch.map(({ blob }) => blob)),
      batch.map(({ text }) => text ?? '').join(''),
    ],
  };
}

const FIELD_NAMES = HEADER_FIELDS.map((name) => `'${name}'`).join(', ');
const at = (name: (typeof HEADER_FIELDS)[number]) => HEADER_FIELDS.indexOf(name) + 1;

/**
 * KEYS meta. ARGV prefix, header, vectors, texts. Answers one value a row: 1 stored, 0 superseded, or the text of the
 * error. The header holds an array a row: its fields in the order of HEADER_FIELDS, null where it has none, then the
 * bytes of its text, null for no text. All that can be of another type is read or tried before the first change.
 */
export const writeScript = script(`${GUARD}
local prefix, vectors, texts = ARGV[1], ARGV[3], ARGV[4]
local rows = cjson.decode(ARGV[2])
local names = { ${FIELD_NAMES} }
local width, text_at = #vectors / #rows, 0

local function write(row, vector, text)
  local function field(at)
    local value = row[at]
    return value ~= cjson.null and value or nil
  end
  local topic, partition, offset = row[${at('topic')}], row[${at('partition')}], row[${at('offset')}]
  local chunk, document = row[${at('chunk_id')}], row[${at('document_id')}]
  local key = prefix .. 'chunk:' .. chunk
  local stored = redis.pcall('HMGET', key, 'version', 'topic', 'partition', 'offset')
  if stored.err then return stored.err end
  if stored[2] and is_older(field(${at('version')}) or '', topic, partition, offset, stored) then return 0 end
  for _, tombstone in ipairs({ 'chunk:' .. chunk, 'document:' .. document }) do
    local deleted = is_deleted(prefix .. 'tombstone:' .. tombstone, topic, partition, offset)
    if type(deleted) == 'table' then return deleted.err end
    if deleted then return 0 end
  end
  local added = redis.pcall('SADD', prefix .. 'doc:' .. document, chunk)
  if type(added) == 'table' then return added.err end
  local fields = { 'vector', vector }
  for index, name in ipairs(names) do
    local value = field(index)
    if value then
      fields[#fields + 1] = name
      fields[#fields + 1] = value
    end
  end
  if text then
    fields[#fields + 1] = 'text'
    fields[#fields + 1] = text
  end
  -- A field that the new revision does not have must not survive from the old one.
  redis.call('DEL', key)
  redis.call('HSET', key, unpack(fields))
  return stored[2] and 1 or 2
end

local answers, new = {}, 0
for index, row in ipairs(rows) do
  local text
  local bytes = row[#names + 1]
  if bytes ~= cjson.null then
    text = string.sub(texts, text_at + 1, text_at + bytes)
    text_at = text_at + bytes
  end
  local answer = write(row, string.sub(vectors, (index - 1) * width + 1, index * width), text)
  if answer == 2 then
    new = new + 1
    answer = 1
  end
  answers[index] = answer
end
if new > 0 then redis.call('HINCRBY', KEYS[1], 'rows', new) end
return answers
`);
