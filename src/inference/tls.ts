/**
 * TLS files of the connection to the model server: read and checked once, at start.
 *
 * A wrong file is one clear error that names the setting and the path, instead of a connection that is tried for ever.
 * Files are not watched: a rotated certificate takes effect when the worker restarts.
 */
import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { ServingError } from '../errors.ts';

/** A path together with the name of the setting it came from. */
export type FileSetting = { readonly setting: string; readonly path: string };

export type TlsFiles = {
  /** Certificates to trust; without one, those that Node brings. */
  readonly ca?: FileSetting;
  /** Client certificate and its key, for mutual TLS: both or neither. */
  readonly cert?: FileSetting;
  readonly key?: FileSetting;
  /** Name that the server's certificate must carry, where it is not the host of the target. */
  readonly serverName?: string;
};

export type TlsMaterial = { readonly ca: Buffer | null; readonly cert: Buffer | null; readonly key: Buffer | null };

/** Throws CONFIG_INVALID. Never says what is in a file. */
export function readTlsFiles({ ca, cert, key }: TlsFiles): TlsMaterial {
  if ((cert === undefined) !== (key === undefined)) {
    const given = cert ?? key;
    throw invalid(given!, 'is set alone: mutual TLS needs the client certificate and its key');
  }
  const material = {
    ca: ca === undefined ? null : read(ca),
    cert: cert === undefined ? null : read(cert),
    key: key === undefined ? null : read(key),
  };
  if (ca !== undefined) certificate(ca, material.ca!);
  if (cert !== undefined && key !== undefined) {
    if (!certificate(cert, material.cert!).checkPrivateKey(privateKey(key, material.key!))) {
      throw invalid(key, `is not the key of the certificate in ${cert.setting} (${cert.path})`);
    }
  }
  return material;
}

function read(file: FileSetting): Buffer {
  let content: Buffer;
  try {
    content = readFileSync(file.path);
  } catch (error) {
    throw invalid(file, reason((error as NodeJS.ErrnoException).code), error);
  }
  if (content.toString('latin1').trim() === '') throw invalid(file, 'is empty');
  return content;
}

function reason(code: string | undefined): string {
  if (code === 'ENOENT') return 'does not exist';
  if (code === 'EISDIR') return 'is a directory, not a file';
  if (code === 'EACCES') return 'may not be read by this user';
  return `cannot be read (${code ?? 'unknown error'})`;
}

function certificate(file: FileSetting, content: Buffer): X509Certificate {
  if (!content.includes('-----BEGIN CERTIFICATE-----')) throw invalid(file, 'holds no PEM certificate');
  try {
    return new X509Certificate(content);
  } catch (error) {
    throw invalid(file, 'holds a certificate that cannot be read', error);
  }
}

function privateKey(file: FileSetting, content: Buffer): KeyObject {
  if (!/-----BEGIN [A-Z ]*PRIVATE KEY-----/.test(content.toString('latin1'))) {
    throw invalid(file, 'holds no PEM private key');
  }
  try {
    return createPrivateKey(content);
  } catch (error) {
    throw invalid(file, 'holds a private key that cannot be read; a key with a passphrase is not supported', error);
  }
}

function invalid({ setting, path }: FileSetting, fault: string, cause?: unknown): ServingError {
  return new ServingError('CONFIG_INVALID', `${setting}: ${path} ${fault}`, { cause, details: { setting, path } });
}
