/** What a pushed folder is, from its files and from what the caller says: all of the manifest but its name and time. */
import { readFile } from 'node:fs/promises';
import { ServingError } from '../errors.ts';
import { ENGINE_FILE, type EngineFacts, engineBuildOf, NOTE_SUFFIX, readEngineNote } from './engine-note.ts';
import type { HashedFile } from './hash-file.ts';
import type { Manifest } from './manifest.ts';

const GOLDEN_NAME = 'golden.json';
const MAX_NOTE_BYTES = 1_024 * 1_024;

export type FolderFacts = EngineFacts & {
  readonly golden?: string | undefined;
  readonly sourceRevision?: string | undefined;
};

export async function describeFolder(
  files: readonly HashedFile[],
  facts: FolderFacts,
): Promise<Omit<Manifest, 'name' | 'version' | 'createdAt' | 'format'>> {
  const engines = files.filter(({ path }) => ENGINE_FILE.test(path));
  const notes = await notesOf(engines, files);
  const golden = facts.golden ?? (files.some(({ path }) => path === GOLDEN_NAME) ? GOLDEN_NAME : undefined);
  if (golden !== undefined && !files.some(({ path }) => path === golden)) {
    throw new ServingError('ARGUMENT_INVALID', `--golden ${JSON.stringify(golden)} is no file of the folder`);
  }
  const isOnnx = files.some(({ path }) => path.endsWith('.onnx'));
  return {
    kind: engines.length > 0 ? 'engine' : isOnnx ? 'onnx' : 'files',
    engine: engines.length > 0 ? engineBuildOf(notes, facts) : null,
    fingerprint: facts.fingerprint ?? commonFingerprint(notes),
    golden: golden ?? null,
    sourceRevision: facts.sourceRevision ?? null,
    files: files.map(({ path, sha256, sizeBytes, executable }) => ({
      path,
      sha256,
      sizeBytes,
      ...(executable ? { executable } : {}),
    })),
  };
}

async function notesOf(engines: readonly HashedFile[], files: readonly HashedFile[]): Promise<readonly EngineFacts[]> {
  const notes: EngineFacts[] = [];
  for (const engine of engines) {
    const file = files.find(({ path }) => path === `${engine.path}${NOTE_SUFFIX}`);
    if (file === undefined || file.sizeBytes > MAX_NOTE_BYTES) continue;
    const note = readEngineNote(await readFile(file.absolute, 'utf8'));
    if (note === undefined) continue;
    if (note.sha256 !== undefined && note.sha256 !== engine.sha256) {
      throw new ServingError(
        'ARGUMENT_INVALID',
        `${JSON.stringify(file.path)} is the note of another engine than the one beside it (SHA-256 differs); build it again, or remove the note`,
      );
    }
    notes.push(note);
  }
  return notes;
}

/** Null where the engines have several: then none of them is the model's. */
function commonFingerprint(notes: readonly EngineFacts[]): Readonly<Record<string, string>> | null {
  const told = notes.flatMap(({ fingerprint }) => (fingerprint === undefined ? [] : [fingerprint]));
  const texts = new Set(told.map((one) => JSON.stringify(Object.entries(one).sort())));
  return texts.size === 1 ? told[0]! : null;
}
