/** Requests that are wrong in every way a request can be, made from a seed. Bytes, not objects: no client would send them. */
export type Random = () => number;

/** Mulberry32. */
export function seeded(seed: number): Random {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), state | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296;
  };
}

const METHODS = 'GET GET GET GET GET HEAD POST PUT DELETE PATCH OPTIONS TRACE PROPFIND LOCK PURGE QUERY M-SEARCH'.split(
  ' ',
);
const WRONG_METHODS = ['CONNECT', 'get', 'G\x00T', '', 'X'.repeat(500), 'GET GET'];
const KNOWN = [
  '/healthz',
  '/ready',
  '/metrics',
  '/status',
  '/openapi.json',
  '/docs',
  '/docs/',
  '/docs/json',
  '/api/docs/',
];
const ODD_PATHS = [
  '/',
  '/docs/yaml',
  '/docs/static/swagger-ui.css',
  '/docs/static/../../../../../../etc/passwd',
  '/docs/static/%2e%2e%2f%2e%2e%2fetc%2fpasswd',
  '/docs/static/..%5c..%5cetc%5cpasswd',
  '/docs/static/%00',
  '//healthz',
  '/HEALTHZ',
  '/healthz/../ready',
  '/%E0%A4%A',
  '/%',
  '*',
  'http://elsewhere/ready',
  'elsewhere:443',
  '',
  '/__proto__',
  '/constructor',
  '/ready;a=b',
  '/status?a[]=1&a[__proto__]=2&%=%',
  '/ready#x',
];
const WRONG_VERSIONS = ['HTTP/1.0', 'HTTP/0.9', 'HTTP/2.0', 'HTTP/9.9', 'http/1.1', 'HTTP/1.', ''];
/** A parser takes these; what they ask for is odd. */
const ODD_HEADERS = [
  'host: a',
  'host: a\r\nhost: b',
  'content-length: 0',
  'content-length: 5',
  'content-length: 5000000',
  'transfer-encoding: chunked',
  'content-type: application/json',
  'content-type: ;;;',
  'content-type: multipart/form-data',
  'content-encoding: br',
  'expect: 100-continue',
  'expect: the unexpected',
  'connection: keep-alive, close, upgrade',
  'connection: upgrade\r\nupgrade: websocket\r\nsec-websocket-key: x',
  'connection: upgrade, http2-settings\r\nupgrade: h2c\r\nhttp2-settings: AAMAAABkAAQAAP__',
  'accept: */*;q=nonsense, text/',
  'accept: application/openmetrics-text; version=1.0.0',
  'accept-encoding: gzip;q=0, *;q=0',
  'accept-version: 99',
  'authorization: Bearer',
  'authorization: Bearer \xff\xfe',
  'authorization: Basic OjpAOg==',
  'x-api-key: ',
  'range: bytes=9999999-1,-5,0-',
  'if-none-match: "x", W/"y", *',
  'if-modified-since: never',
  'cookie: a=b; __proto__=c',
  '__proto__: x',
  'x-http-method-override: DELETE',
];
const WRONG_HEADERS = [
  'content-length: -1',
  'content-length: 1e9',
  'content-length: 99999999999999999999',
  'content-length: 3\r\ncontent-length: 4',
  'transfer-encoding: gzip, chunked',
  'transfer-encoding: chunked\r\ncontent-length: 3',
  'x-forwarded-for: \x01',
  ': no name',
  'no colon',
  ' folded: line',
];
const BODIES = [
  '',
  '',
  '{',
  '{"__proto__":{"a":1}}',
  '[]',
  '5\r\nabcde\r\n0\r\n\r\n',
  'ffffffff\r\n',
  'zz\r\n',
  '\x00\xff\x00',
  'x'.repeat(2_000),
];

/** As latin1: one character a byte. Most of them get past the parser, or nothing behind it would be met. */
export function malformedRequest(random: Random): string {
  const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)]!;
  const few = (most: number) => Math.floor(random() * (most + 1));
  const rarely = (share: number) => random() < share;
  if (rarely(0.03)) return noise(random, few(300));
  const path = rarely(0.2)
    ? `/${visible(random, few(60)).replaceAll(' ', '_')}`
    : pick(rarely(0.5) ? ODD_PATHS : KNOWN);
  const long = rarely(0.02) ? 'y'.repeat(few(200_000)) : '';
  const headers = Array.from({ length: few(3) }, () => {
    if (rarely(0.1)) return `x-${few(99)}: ${visible(random, few(40))}`;
    return pick(rarely(0.06) ? WRONG_HEADERS : ODD_HEADERS);
  });
  if (rarely(0.01)) headers.push(...Array.from({ length: 3_000 }, (_, i) => `x-${i}: y`));
  const method = pick(rarely(0.04) ? WRONG_METHODS : METHODS);
  const version = rarely(0.05) ? pick(WRONG_VERSIONS) : 'HTTP/1.1';
  const lineEnd = rarely(0.03) ? '\n' : '\r\n';
  const head = [`${method} ${path}${long} ${version}`, ...headers].join(lineEnd);
  const whole = `${head}${lineEnd}${lineEnd}${rarely(0.3) ? pick(BODIES) : ''}`;
  return rarely(0.05) ? whole.slice(0, few(whole.length)) : whole;
}

function noise(random: Random, length: number): string {
  return Array.from({ length }, () => String.fromCharCode(Math.floor(random() * 256))).join('');
}

/** Bytes that may stand in a header's value. */
function visible(random: Random, length: number): string {
  return Array.from({ length }, () => {
    const code = 0x20 + Math.floor(random() * 0xe0);
    return String.fromCharCode(code === 0x7f ? 0x20 : code);
  }).join('');
}
