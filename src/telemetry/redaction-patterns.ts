/**
 * Secrets that are known by their form, anywhere in a text: keys of clouds and hubs, tokens, headers, `password=…` as settings
 * of SASL and connection strings write it. Prefers masking too much. Every pattern is bounded, so that none takes long.
 */
const MASK = '[redacted]';

const KEYS =
  'password|passwd|passphrase|pwd|secret|token|api[_-]?key|access[_-]?key|private[_-]?key|credentials?|authorization|signature';

const PATTERNS: readonly (readonly [pattern: RegExp, replacement: string])[] = [
  [/-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]{0,40}PRIVATE KEY-----|$)/g, MASK],
  [/\b(bearer)[ \t]+[A-Za-z0-9._~+/=-]{6,}/gi, `$1 ${MASK}`],
  // Base64 has capitals, digits or signs; what has none is the next word of a sentence.
  [/\b([Bb]asic|BASIC)[ \t]+(?=[a-z]{0,200}[A-Z0-9+/=])[A-Za-z0-9+/=]{6,}/g, `$1 ${MASK}`],
  [/\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{4,}(?:\.[A-Za-z0-9_-]*)?/g, MASK],
  [/\bhf_[A-Za-z0-9]{8,}/g, MASK],
  [/\b(?:AKIA|ASIA|AROA|AIDA)[A-Z0-9]{12,}\b/g, MASK],
  [
    new RegExp(`\\b([\\w.-]{0,40}(?:${KEYS})["']?[ \\t]?[=:][ \\t]?)(?:"[^"]*"?|'[^']*'?|[^\\s,;&"')}\\]]+)`, 'gi'),
    `$1${MASK}`,
  ],
];

export function maskByForm(text: string): string {
  let masked = text;
  for (const [pattern, replacement] of PATTERNS) masked = masked.replace(pattern, replacement);
  return masked;
}
