/**
 * Which paths a model's file may have. What a manifest names is written to disk by whoever pulls it, and a manifest may be
 * hostile: nothing absolute, nothing that climbs, nothing that another system would read otherwise. Pure.
 */
const MAX_BYTES = 1_024;
/** Our own note in a pulled folder. */
export const RECEIPT_NAME = '.rag-serving-model.json';

/** What is wrong with the path, or undefined. */
export function pathProblem(path: string): string | undefined {
  if (path === '') return 'is empty';
  if (Buffer.byteLength(path) > MAX_BYTES) return `is longer than ${MAX_BYTES} bytes`;
  if (path.startsWith('/') || /^[A-Za-z]:/.test(path)) return 'is absolute';
  if (path.includes('\\')) return 'has a backslash';
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is looked for.
  if (/[\x00-\x1f\x7f]/.test(path)) return 'has a control character';
  const parts = path.split('/');
  if (parts.some((part) => part === '..' || part === '.')) return 'has a part "." or ".."';
  if (parts.some((part) => part === '')) return 'has an empty part';
  if (parts.some((part) => Buffer.byteLength(part) > 255)) return 'has a part of more than 255 bytes';
  return path === RECEIPT_NAME ? 'is the name of the note that a pull leaves' : undefined;
}

/** A path that is there twice (also but for case), or is a file and a folder at once; undefined when none is. */
export function clashingPath(paths: readonly string[]): string | undefined {
  const files = new Set<string>();
  const folders = new Set<string>();
  for (const path of paths) {
    const folded = path.normalize('NFC').toLowerCase();
    if (files.has(folded) || folders.has(folded)) return path;
    files.add(folded);
    const parts = folded.split('/');
    for (let depth = 1; depth < parts.length; depth++) {
      const folder = parts.slice(0, depth).join('/');
      if (files.has(folder)) return path;
      folders.add(folder);
    }
  }
  return undefined;
}
