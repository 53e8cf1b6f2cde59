/**
 * Settings that are paths, and TLS files. A certificate that is missing, empty, a folder, no PEM, expired, not valid yet or
 * not of its key is told at start: as a connection error it would only show as an endless reconnect.
 * Whoever builds a client reads them; those of the model servers are read again when they were rotated (TlsFiles).
 */
import { createPrivateKey, X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { type Doc, defineSetting, type Fallback, ok, refuse, type Setting } from './setting.ts';

export type ReadFile = (path: string) => string;

export const readTextFile: ReadFile = (path) => readFileSync(path, 'utf8');

export function path<T extends string | undefined>(
  name: string,
  fallback: Fallback<T>,
  about: Doc,
): Setting<string | T> {
  return defineSetting<string | T>(name, 'path', fallback, about, (value) =>
    value.includes('\0') ? refuse('holds a NUL character; set a path') : ok(value),
  );
}

export type TlsPaths = {
  readonly caPath: string | undefined;
  readonly certPath: string | undefined;
  readonly keyPath: string | undefined;
};

export type TlsMaterial = {
  /** PEM text; undefined means the authorities that Node brings. */
  readonly ca: string | undefined;
  readonly cert: string | undefined;
  readonly key: string | undefined;
};

/** Reads the PEM files of a checked configuration, where a client is built. */
export function loadTlsMaterial(paths: TlsPaths, readFile: ReadFile = readTextFile): TlsMaterial {
  const load = (file: string | undefined) => (file === undefined ? undefined : readFile(file));
  return { ca: load(paths.caPath), cert: load(paths.certPath), key: load(paths.keyPath) };
}

export type TlsPart = 'caPath' | 'certPath' | 'keyPath';
export type TlsProblem = { readonly part: TlsPart; readonly says: string };

/** Everything wrong with the files of one connection; `nowMs` is the wall clock. */
export function tlsProblems(paths: TlsPaths, nowMs: number, readFile: ReadFile): TlsProblem[] {
  const problems: TlsProblem[] = [];
  const check = <T>(part: TlsPart, read: (pem: string) => T | string): T | undefined => {
    const file = paths[part];
    if (file === undefined) return undefined;
    const pem = pemOf(file, readFile);
    const result = pem.ok ? read(pem.value) : pem.problem;
    if (typeof result !== 'string') return result;
    problems.push({ part, says: `${result} (${file})` });
    return undefined;
  };
  check('caPath', (pem) => authorities(pem, nowMs));
  const cert = check('certPath', (pem) => certificate(pem, nowMs));
  const key = check('keyPath', privateKey);
  if (cert !== undefined && key !== undefined && !cert.checkPrivateKey(key)) {
    problems.push({
      part: 'keyPath',
      says: `holds the key of another certificate; set the key that the certificate was made for (${paths.keyPath})`,
    });
  }
  return problems;
}

function pemOf(file: string, readFile: ReadFile) {
  try {
    const pem = readFile(file);
    return pem.trim() === '' ? refuse('names an empty file; set a PEM file') : ok(pem);
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'unreadable';
    const why =
      code === 'ENOENT'
        ? 'a file that does not exist'
        : code === 'EISDIR'
          ? 'a folder'
          : `a file that cannot be read (${code})`;
    return refuse(`names ${why}; set a readable PEM file`);
  }
}

const CERTIFICATES = /-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/g;

/** The first authority that can be used, for a bundle keeps the old ones for a while; or what is wrong with the first. */
function authorities(pem: string, nowMs: number): X509Certificate | string {
  const judged = (pem.match(CERTIFICATES) ?? [pem]).map((one) => certificate(one, nowMs));
  return judged.find((one) => typeof one !== 'string') ?? judged[0]!;
}

/** The first certificate of a PEM file, checked; or what is wrong. */
function certificate(pem: string, nowMs: number): X509Certificate | string {
  if (!pem.includes('-----BEGIN CERTIFICATE-----')) return 'names a file without a PEM certificate; set a PEM file';
  try {
    const parsed = new X509Certificate(pem);
    if (Date.parse(parsed.validTo) < nowMs) return `names a certificate that expired ${parsed.validTo}; renew it`;
    if (Date.parse(parsed.validFrom) > nowMs) {
      return `names a certificate that is not valid before ${parsed.validFrom}; set one that is, or the clock of this machine`;
    }
    return parsed;
  } catch {
    return 'names a file whose PEM certificate is damaged; set a whole PEM file';
  }
}

function privateKey(pem: string) {
  if (!/-----BEGIN [A-Z ]*PRIVATE KEY-----/.test(pem)) return 'names a file without a PEM private key; set a PEM file';
  try {
    return createPrivateKey(pem);
  } catch {
    return 'names a file whose private key is damaged or has a passphrase; set an unencrypted PEM key';
  }
}
