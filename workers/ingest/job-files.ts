/** The files of an ingest, each with what an earlier run has done of it. */
import { resolve } from 'node:path';
import { ServingError } from '../../src/errors.ts';
import { type ColumnNames, contractNames } from '../files/columns.ts';
import { everyKind, findInputs, type Input } from '../files/inputs.ts';
import type { IngestFlags } from '../ingest.ts';
import { type FileMark, RESTART } from './checkpoint.ts';
import { fileIdentity } from './identity.ts';
import { OpenFile } from './open-file.ts';

export async function inputsOf(paths: readonly string[], flags: IngestFlags): Promise<Input[]> {
  if (!paths.includes('-')) return findInputs(paths, resolve(flags.base), process.cwd(), everyKind);
  if (paths.length > 1) throw new ServingError('ARGUMENT_INVALID', 'standard input (-) goes by itself: name no files');
  const kind = flags.format === 'csv' ? 'csv' : 'lines';
  return [{ kind, compression: undefined, path: '-', name: 'stdin', bytes: 0 }];
}

export function columnsOf(flags: IngestFlags): ColumnNames {
  const { idColumn, textColumn, documentColumn, tenantColumn, versionColumn, metadataColumns } = flags;
  const asked = [idColumn, textColumn, documentColumn, tenantColumn, versionColumn, metadataColumns];
  // The very object: lines that nothing is asked of go as they are.
  if (asked.every((name) => name === undefined)) return contractNames;
  const list = metadataColumns?.split(',').map((name) => name.trim()) ?? [];
  return {
    id: idColumn ?? contractNames.id,
    text: textColumn ?? contractNames.text,
    document: documentColumn ?? contractNames.document,
    tenant: tenantColumn ?? contractNames.tenant,
    version: versionColumn ?? contractNames.version,
    metadata: list.length === 1 && list[0] === '*' ? 'all' : list.filter((name) => name !== ''),
  };
}

/** Throws ARGUMENT_INVALID for a file that is not the one any more of which an earlier run has done a part. */
export async function openFiles(
  inputs: readonly Input[],
  columns: ColumnNames,
  targetTokens: number,
  marks: readonly FileMark[],
): Promise<OpenFile[]> {
  const byPath = new Map(marks.map((mark) => [mark.path, mark]));
  const files: OpenFile[] = [];
  for (const input of inputs) {
    const isStdin = input.path === '-';
    const identity = isStdin ? `stdin-${Date.now()}` : await identityOf(input.path);
    const reading = JSON.stringify(input.kind === 'document' ? [targetTokens, input.name] : [columns, input.name]);
    const mark = byPath.get(input.path);
    if (mark !== undefined && mark.identity !== identity) {
      throw new ServingError(
        'ARGUMENT_INVALID',
        `${input.path} has changed since a part of it was ingested; ${RESTART}`,
      );
    }
    if (mark !== undefined && mark.reading !== reading) {
      throw new ServingError(
        'ARGUMENT_INVALID',
        `${input.path} was begun with other columns, --chunk-tokens or --base; give the same, ${RESTART}`,
      );
    }
    files.push(new OpenFile(input, identity, reading, mark));
  }
  return files;
}

async function identityOf(path: string): Promise<string> {
  try {
    return await fileIdentity(path);
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown';
    throw new ServingError('ARGUMENT_INVALID', `${path} cannot be read (${code})`, { cause: error });
  }
}
