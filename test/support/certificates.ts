/** Certificates made by openssl for one test: an authority, what it signs, and files that are rotated as Kubernetes does it. */
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export type Pair = { readonly cert: string; readonly key: string };

const FRESH_KEY = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];

export class Authority {
  readonly #folder = mkdtempSync(join(tmpdir(), 'rag-ca-'));
  #issued = 0;
  readonly cert: string;

  constructor(name = 'authority.test') {
    const files = ['-keyout', this.#at('ca.key'), '-out', this.#at('ca.crt')];
    openssl('req', '-x509', ...FRESH_KEY, ...files, '-subj', `/CN=${name}`, '-days', '2');
    this.cert = this.#read('ca.crt');
  }

  /** `names`: as openssl writes them, such as `DNS:server.test`. */
  issue(commonName: string, names = `DNS:${commonName}`, days = 2): Pair {
    const id = `issued-${++this.#issued}`;
    const asked = ['-subj', `/CN=${commonName}`, '-addext', `subjectAltName=${names}`];
    openssl('req', ...FRESH_KEY, '-keyout', this.#at(`${id}.key`), '-out', this.#at(`${id}.csr`), ...asked);
    const signed = ['-CA', this.#at('ca.crt'), '-CAkey', this.#at('ca.key'), '-CAcreateserial', '-days', String(days)];
    const files = ['-in', this.#at(`${id}.csr`), '-out', this.#at(`${id}.crt`)];
    openssl('x509', '-req', ...files, ...signed, '-copy_extensions', 'copy');
    return { cert: this.#read(`${id}.crt`), key: this.#read(`${id}.key`) };
  }

  remove(): void {
    rmSync(this.#folder, { recursive: true, force: true });
  }

  #at(name: string): string {
    return join(this.#folder, name);
  }

  #read(name: string): string {
    return readFileSync(this.#at(name), 'utf8');
  }
}

/** A folder as Kubernetes mounts a secret: links to `..data`, and that a link to the folder of a version, swapped in one step. */
export class MountedSecret {
  readonly #folder = mkdtempSync(join(tmpdir(), 'rag-secret-'));
  #version = 0;

  constructor(files: Readonly<Record<string, string>>) {
    this.swap(files);
    for (const name of Object.keys(files)) symlinkSync(join('..data', name), this.path(name));
  }

  path(name: string): string {
    return join(this.#folder, name);
  }

  swap(files: Readonly<Record<string, string>>): void {
    const version = `..version-${++this.#version}`;
    mkdirSync(this.path(version));
    for (const [name, text] of Object.entries(files)) writeFileSync(join(this.path(version), name), text);
    symlinkSync(version, this.path('..data_tmp'));
    renameSync(this.path('..data_tmp'), this.path('..data'));
  }

  remove(): void {
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

function openssl(...args: readonly string[]): void {
  execFileSync('openssl', args, { stdio: 'ignore' });
}
