/** Names of models, versions and tags, what a person writes to mean one of them, and where each lies. Pure. */
import { ServingError } from '../errors.ts';

const NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/;
const SAYS = '1–128 letters, digits, dots, underscores and hyphens that begin with a letter or digit';

export type Reference = {
  readonly name: string;
  readonly wanted:
    | { readonly kind: 'label'; readonly label: string }
    | { readonly kind: 'digest'; readonly sha256: string };
};

export const LATEST = 'latest';

export function checkedName(what: 'name' | 'version' | 'tag', text: string): string {
  if (NAME.test(text)) return text;
  throw new ServingError('ARGUMENT_INVALID', `the ${what} of a model is ${SAYS}; got ${text.length} other characters`);
}

/** `name`, `name:tag`, `name:version` or `name@sha256:…` (the first 12 digits are enough). */
export function parseReference(text: string): Reference {
  const byDigest = /^([^:@]*)@(?:sha256:)?([0-9a-f]{12,64})$/.exec(text);
  if (byDigest !== null) {
    return { name: checkedName('name', byDigest[1]!), wanted: { kind: 'digest', sha256: byDigest[2]! } };
  }
  if (text.includes('@')) {
    throw new ServingError(
      'ARGUMENT_INVALID',
      'after @ comes sha256: and 12 to 64 hexadecimal digits, as "models list" shows them',
    );
  }
  const colon = text.indexOf(':');
  const name = checkedName('name', colon === -1 ? text : text.slice(0, colon));
  return { name, wanted: { kind: 'label', label: colon === -1 ? LATEST : checkedName('tag', text.slice(colon + 1)) } };
}

export const BLOBS = 'blobs/sha256/';
export const MODELS = 'models/';
export const GC_NOTICE = 'gc.json';

export const blobKey = (sha256: string) => `${BLOBS}${sha256}`;
export const versionsPrefix = (name: string) => `${MODELS}${name}/versions/`;
export const versionKey = (name: string, version: string) => `${versionsPrefix(name)}${version}.json`;
export const tagsPrefix = (name: string) => `${MODELS}${name}/tags/`;
export const tagKey = (name: string, tag: string) => `${tagsPrefix(name)}${tag}.json`;

export type PlacedRecord = {
  readonly name: string;
  readonly kind: 'versions' | 'tags';
  readonly label: string;
  readonly key: string;
};

/** What a key below `models/` is; undefined for a file that somebody else put there. */
export function recordAt(key: string): PlacedRecord | undefined {
  const [, name, kind, label] = /^models\/([^/]+)\/(versions|tags)\/([^/]+)\.json$/.exec(key) ?? [];
  if (name === undefined || label === undefined || !NAME.test(name) || !NAME.test(label)) return undefined;
  return { name, kind: kind as PlacedRecord['kind'], label, key };
}
