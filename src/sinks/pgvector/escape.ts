/**
 * Text as PostgreSQL can hold it, and back: NUL is the one character it refuses, and jsonb refuses half surrogate pairs.
 *
 * Both are kept by an escape that hardly any text contains, U+001A (SUBSTITUTE): U+001A "0" is NUL, U+001A "1" is U+001A
 * itself, U+001A "d83d" that code unit. All other text stands in its column as it is. Two texts never become one.
 */

const SUBSTITUTE = '\u001a';
// biome-ignore lint/suspicious/noControlCharactersInRegex: NUL and SUBSTITUTE are what this is about.
const NEEDS_ESCAPE = /[\0\u001a]/;
// biome-ignore lint/suspicious/noControlCharactersInRegex: as above.
const SPECIAL = /[\0\u001a]/g;

/** Well-formed text only: rows with half of a surrogate pair never come so far. */
export function escapeText(text: string): string {
  return NEEDS_ESCAPE.test(text)
    ? text.replace(SPECIAL, (character) => SUBSTITUTE + (character === '\0' ? '0' : '1'))
    : text;
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: as above.
const ESCAPED = /\u001a(0|1|d[89a-f][0-9a-f]{2})/g;

export function unescapeText(text: string): string {
  return text.includes(SUBSTITUTE) ? text.replace(ESCAPED, (_, code: string) => characterOf(code)) : text;
}

/** A backslash of its own (`\\`) is stepped over, so that what follows it is not taken for an escape. */
const JSON_SPECIAL = /\\(?:\\|u0000|u001a|u(d[89a-f][0-9a-f]{2}))/g;

/** JSON text, as JSON.stringify writes it, for a jsonb column. Keys and values alike. */
export function escapeJson(json: string): string {
  if (!json.includes('\\')) return json;
  return json.replace(JSON_SPECIAL, (token, surrogate: string | undefined) => {
    if (token === '\\\\') return token;
    return `\\u001a${surrogate ?? (token === '\\u0000' ? '0' : '1')}`;
  });
}

/** Of text that PostgreSQL gives back for a jsonb: it writes U+001A as \\u001a. */
export function unescapeJson(json: string): string {
  if (!json.includes('\\')) return json;
  return json.replace(/\\(?:\\|u001a(0|1|d[89a-f][0-9a-f]{2}))/g, (token, code: string | undefined) =>
    code === undefined ? token : code === '0' ? '\\u0000' : code === '1' ? '\\u001a' : `\\u${code}`,
  );
}

function characterOf(code: string): string {
  if (code === '0') return '\0';
  return code === '1' ? SUBSTITUTE : String.fromCharCode(Number.parseInt(code, 16));
}
