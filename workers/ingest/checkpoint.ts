/**
 * How far an unfinished ingest has come, in a file of its state folder: of each input what is done, and what came of it.
 *
 * Written whole each time, durably, and gone when everything is done. One that was written for another store, or for a file
 * that is not the same any more, is refused: going on would leave out what was never stored.
 */
import { mkdir, readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { type ErrorCode, errorCodes, ServingError } from '../../src/errors.ts';
import { encodeTail } from '../../src/offsets/commit-metadata.ts';
import type { OffsetLedger } from '../../src/offsets/ledger.ts';
import { openLedger } from '../../src/offsets/opening.ts';
import { writeDurably } from '../../src/registry/durable-files.ts';
import type { Tally } from './tally.ts';

const count = z.int().min(0);
const markSchema = z.object({
  path: z.string(),
  identity: z.string(),
  /** How it is read: other columns would be other entries. */
  reading: z.string(),
  /** Every entry before this position is done. */
  point: z.string().regex(/^\d+$/),
  /** What is done beyond it, as the worker keeps it beside an offset. */
  tail: z.string(),
  isFinished: z.boolean(),
  tally: z.object({
    entries: count,
    stored: count,
    superseded: count,
    rejected: z.partialRecord(z.enum(errorCodes as readonly [ErrorCode, ...ErrorCode[]]), count),
  }),
});
const checkpointSchema = z.object({
  version: z.literal(1),
  /** The store that the chunks went into. */
  target: z.string(),
  /** The file of rejects, and how long it was. */
  rejects: z.object({ path: z.string(), bytes: count }).optional(),
  marks: z.array(markSchema),
});

export type FileMark = Omit<z.infer<typeof markSchema>, 'tally'> & { readonly tally: Tally };
export type Checkpoint = z.infer<typeof checkpointSchema>;

/** In flight are a few thousand entries at most, so what is done among them always fits. */
const MAX_TAIL_BYTES = 1_048_576;
const FILE = 'checkpoint.json';
export const RESTART =
  'or begin again with --restart (what is stored already is written once more, which changes nothing)';

export function markOf(
  file: Pick<FileMark, 'path' | 'identity' | 'reading' | 'isFinished' | 'tally'>,
  ledger: OffsetLedger,
): FileMark {
  const point = ledger.commitPoint;
  return { ...file, point: String(point), tail: encodeTail(point, ledger.doneBeyond(), MAX_TAIL_BYTES) };
}

export function ledgerOf(mark: FileMark | undefined): OffsetLedger {
  const start = BigInt(mark?.point ?? 1);
  return openLedger(start, { offset: start, metadata: mark?.tail ?? '' }).ledger;
}

/** Undefined when there is none. Under the lock of the folder. */
export async function readCheckpoint(folder: string, target: string): Promise<Checkpoint | undefined> {
  const path = join(folder, FILE);
  let text: string;
  try {
    text = await readFile(path, 'utf8');
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
    throw new ServingError('ARGUMENT_INVALID', `${path} cannot be read; look at its rights, ${RESTART}`, {
      cause: error,
    });
  }
  const checkpoint = parsed(text);
  if (checkpoint === undefined) {
    throw new ServingError('ARGUMENT_INVALID', `${path} is damaged or of another version; begin again with --restart`);
  }
  if (checkpoint.target !== target) {
    throw new ServingError(
      'ARGUMENT_INVALID',
      `${path} is of an ingest into another store; use those settings, another --state folder, ${RESTART}`,
    );
  }
  return checkpoint;
}

export async function writeCheckpoint(folder: string, checkpoint: Checkpoint): Promise<void> {
  await writeDurably(join(folder, FILE), Buffer.from(`${JSON.stringify(checkpoint)}\n`, 'utf8'));
}

export async function removeCheckpoint(folder: string): Promise<void> {
  await rm(join(folder, FILE), { force: true });
}

/** The folder, without what a killed run left half-written. */
export async function prepareFolder(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true });
  const halves = (await readdir(folder)).filter((name) => name.startsWith('.writing-'));
  for (const name of halves) await rm(join(folder, name), { force: true });
}

function parsed(text: string): Checkpoint | undefined {
  try {
    return checkpointSchema.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
}
