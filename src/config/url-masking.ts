/**
 * Takes the credentials out of addresses, anywhere in a text. Prefers masking too much: from `://` to the LAST `@` before
 * white space, because a password that was not percent-encoded may hold `/`, `:`, `#` and `@` itself.
 */
const CREDENTIALS = /([a-z][a-z0-9+.-]{0,31}:\/\/)[^\s@]*@(?:[^\s@]*@)*/gi;
/** `scheme://name:secret` whose `@` is missing or was cut off: a port is digits only. */
const CUT_CREDENTIALS = /([a-z][a-z0-9+.-]{0,31}:\/\/[^\s/:@[\]]*:)(?!\d{1,5}(?:[/?#,;\s"'`)\]}.]|$))[^\s]+/gi;
const SECRET_PARAMETER =
  /([?&;](?:[a-z_-]*(?:password|passwd|secret|token|api[_-]?key|signature|credential)[a-z_-]*)=)[^\s&;"'#]+/gi;

export function maskUrlCredentials(text: string): string {
  if (!text.includes('://') && !text.includes('=')) return text;
  return text
    .replace(CREDENTIALS, '$1[redacted]@')
    .replace(CUT_CREDENTIALS, '$1[redacted]')
    .replace(SECRET_PARAMETER, '$1[redacted]');
}
