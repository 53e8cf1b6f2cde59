/**
 * The changeover of a collection: which collection its readers find under its name now, and what is being filled to take
 * its place. It is the note of the collection that the settings name, the base; without a note that is the current one.
 *
 * Readers ask (`currentChoice`); workers never do: they write the collection that their settings name, so that a switch
 * changes what is read and not what is written.
 */
import { ServingError } from '../errors.ts';
import type { JsonObject } from '../records/chunk.ts';
import type { Log } from '../telemetry/log.ts';
import type { SinkChoice } from './registry.ts';
import { collectionNameOf, createStoreAdmin, type StoreAdmin, withCollection } from './store-admin.ts';

/** One collection being filled. */
export type Run = {
  readonly from: 'topic' | 'store';
  /** Of the model that fills it. */
  readonly fingerprint: string;
  readonly startedAtMs: number;
  /** `copying` stored text, then `following` the topic. Without a topic it ends as `copied`. */
  readonly phase: 'copying' | 'following' | 'copied';
  /** First offset of each partition that comes from the topic; older rows are copied. */
  readonly startOffsets: Readonly<Record<string, string>>;
  /** Where the copy of the stored text stands; null at its beginning. */
  readonly token: string | null;
  /** The last copy, whole once the phase is past `copying`. */
  readonly copied: number;
  readonly withoutText: number;
  readonly refused: number;
};

export type Changeover = {
  /** Undefined: the base itself. */
  readonly current: string | undefined;
  /** What a rollback goes back to; undefined before the first switch. */
  readonly previous: string | undefined;
  readonly switchedAtMs: number | undefined;
  readonly runs: Readonly<Record<string, Run>>;
};

const CHANGES_AT_ONCE = 5;
const NONE: Changeover = { current: undefined, previous: undefined, switchedAtMs: undefined, runs: {} };

export async function readChangeover(admin: StoreAdmin, base: string, signal?: AbortSignal): Promise<Changeover> {
  return parse((await admin.readNote(base, signal))?.value);
}

/** `change` is asked again when somebody else was quicker, and says undefined for no change. Gives what is there afterwards. */
export async function updateChangeover(
  admin: StoreAdmin,
  base: string,
  change: (now: Changeover) => Changeover | undefined,
  signal?: AbortSignal,
): Promise<Changeover> {
  for (let attempt = 0; attempt < CHANGES_AT_ONCE; attempt++) {
    const note = await admin.readNote(base, signal);
    const now = parse(note?.value);
    const next = change(now);
    if (next === undefined) return now;
    if (await admin.writeNote(base, format(next), note?.revision ?? 0, signal)) return next;
  }
  throw new ServingError(
    'SINK_UNAVAILABLE',
    `the changeover of ${base} was changed by somebody else ${CHANGES_AT_ONCE} times in a row: is another reembed at work?`,
  );
}

/** The store as a reader must open it: the collection that is current under the name in the settings. Of several stores, the one that is read. */
export async function currentChoice(choice: SinkChoice, log: Log, signal?: AbortSignal): Promise<SinkChoice> {
  if (choice.name === 'fan-out') return currentChoice(choice.members[0]!, log, signal);
  if (choice.name === 'memory' || choice.name === 'kafka-topic' || choice.name === 'module') return choice;
  const admin = await createStoreAdmin(choice, log);
  try {
    const { current } = await readChangeover(admin, collectionNameOf(choice), signal);
    return current === undefined ? choice : withCollection(choice, current);
  } finally {
    await admin.close();
  }
}

function parse(value: JsonObject | undefined): Changeover {
  if (value === undefined) return NONE;
  const { current, previous, switchedAtMs, runs } = value;
  return {
    current: typeof current === 'string' ? current : undefined,
    previous: typeof previous === 'string' ? previous : undefined,
    switchedAtMs: typeof switchedAtMs === 'number' ? switchedAtMs : undefined,
    runs: (runs ?? {}) as Changeover['runs'],
  };
}

/** Without what is undefined, which JSON has no word for. */
function format(changeover: Changeover): JsonObject {
  return JSON.parse(JSON.stringify(changeover)) as JsonObject;
}
