/** The configuration for people: secrets as `[set]`, URLs without credentials. And the secrets themselves, for the logger to mask. */
import { allSettings } from './catalogue.ts';
import type { Env } from './env-reader.ts';
import { Secret } from './secret.ts';
import { maskUrlCredentials } from './url-masking.ts';

export type Printable = string | number | boolean | null | readonly Printable[] | { readonly [key: string]: Printable };

export function printableConfig(config: unknown): Printable {
  if (config instanceof Secret) return config.toString();
  if (typeof config === 'string') return maskUrlCredentials(config);
  if (typeof config === 'number' || typeof config === 'boolean') return config;
  if (Array.isArray(config)) return config.map(printableConfig);
  if (typeof config === 'object' && config !== null) {
    return Object.fromEntries(Object.entries(config).map(([key, value]) => [key, printableConfig(value)]));
  }
  return null;
}

/** Every secret of a configuration in the spellings in which a client might quote it; for the redaction of logs. */
export function secretSpellings(config: unknown): readonly string[] {
  const found = new Set<string>();
  const visit = (value: unknown): void => {
    if (value instanceof Secret) for (const spelling of spellings(value.reveal())) found.add(spelling);
    else if (typeof value === 'string') for (const spelling of credentialsOf(value)) found.add(spelling);
    else if (typeof value === 'object' && value !== null) for (const part of Object.values(value)) visit(part);
  };
  visit(config);
  // Longest first, so that a secret which contains another one is masked whole. Very short ones would mask ordinary words.
  return [...found].filter((spelling) => spelling.length >= 4).sort((a, b) => b.length - a.length);
}

function spellings(secret: string): string[] {
  const fromUrl = credentialsOf(secret);
  if (secret.includes('://')) return fromUrl;
  return [secret, encodeURIComponent(secret), Buffer.from(secret, 'utf8').toString('base64')];
}

function credentialsOf(text: string): string[] {
  if (!text.includes('://') || !URL.canParse(text)) return [];
  const { password } = new URL(text);
  if (password === '') return [];
  let decoded = password;
  try {
    decoded = decodeURIComponent(password);
  } catch {
    // A stray % leaves one spelling: as written.
  }
  return [password, decoded, Buffer.from(decoded, 'utf8').toString('base64')];
}

/** The secrets of an environment that was not read as a configuration, or could not be: for messages about just that. */
export function environmentSecrets(env: Env): readonly string[] {
  const found: unknown[] = [];
  for (const setting of allSettings) {
    const value = env[setting.name]?.trim() ?? '';
    if (value !== '') found.push(setting.secret ? new Secret(value) : value);
  }
  return secretSpellings(found);
}
