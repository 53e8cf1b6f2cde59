/**
 * Which field names hold what must never be logged: user content (texts, vectors, metadata) and secrets.
 * Names are split into words first, so `rejectedText` is caught and `context`, `textBytes` and `tokenCount` are not.
 */
const CONTENT = new Set([
  'text',
  'texts',
  'vector',
  'vectors',
  'embedding',
  'embeddings',
  'value',
  'values',
  'passage',
  'passages',
  'query',
  'queries',
  'candidates',
  'metadata',
  'content',
  'contents',
  'body',
  'payload',
  'row',
  'rows',
  'args',
  'input',
  'prompt',
]);
const SECRET = new Set([
  'password',
  'passwd',
  'pwd',
  'passphrase',
  'secret',
  'secrets',
  'authorization',
  'credential',
  'credentials',
  'cookie',
  'sasl',
  'bearer',
  'apikey',
  'accesskey',
  'privatekey',
  'authtoken',
]);
const KEY_OWNERS = new Set(['api', 'access', 'private', 'secret', 'auth', 'signing', 'encryption']);

export function isForbiddenKey(key: string, value: unknown): boolean {
  const words = key
    .slice(0, 128)
    .replace(/([a-z0-9])([A-Z])/g, '$1 $2')
    .toLowerCase()
    .split(/[^a-z0-9]+/)
    .filter((word) => word !== '');
  const last = words.at(-1) ?? '';
  // A number says how many, not what: `rows: 256`, `tokens: 40`. A vector element or PIN would be a number too, but has no name of its own.
  if (typeof value !== 'number' && (CONTENT.has(last) || last === 'token' || last === 'tokens')) return true;
  return words.some((word, index) => {
    if (SECRET.has(word)) return true;
    return (word === 'key' || word === 'keys') && KEY_OWNERS.has(words[index - 1] ?? '');
  });
}
