/**
 * The one object by which a collection tells pushes that it is deleting. A push publishes only after it has seen all its blobs
 * while nobody was collecting, so none of them can be deleted between its look and its manifest unnoticed.
 *
 * A collection that was killed leaves its notice; it counts no longer than it says, with a margin for clocks that differ.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { ServingError } from '../errors.ts';
import { GC_NOTICE } from './names.ts';
import type { RegistryStorage } from './storage.ts';

/** A collection deletes for no longer than this. */
export const GC_MAX_MS = 10 * 60_000;
const CLOCK_MARGIN_MS = 5 * 60_000;
const LOOK_EVERY_MS = 2_000;

const schema = z.object({ format: z.literal('rag-serving-gc/1'), owner: z.string(), untilMs: z.number() });

type Notice = Pick<z.infer<typeof schema>, 'owner' | 'untilMs'>;

/** Throws REGISTRY_CONFLICT while another collection runs. */
export async function takeNotice(
  storage: RegistryStorage,
  owner: string,
  nowMs: number,
  signal: AbortSignal,
): Promise<void> {
  const bytes = Buffer.from(JSON.stringify({ format: 'rag-serving-gc/1', owner, untilMs: nowMs + GC_MAX_MS }));
  for (;;) {
    if ((await storage.writeSmall(GC_NOTICE, bytes, 'absent', signal)) === 'written') return;
    const other = await readNotice(storage, signal);
    if (other?.owner === owner) return; // an answer that was lost, and a write tried again
    if (other !== undefined && isInForce(other, nowMs)) {
      throw new ServingError(
        'REGISTRY_CONFLICT',
        `${storage.address}: another collection is running, until ${new Date(other.untilMs).toISOString()} at most; wait for it`,
      );
    }
    if (other !== undefined) await storage.remove(GC_NOTICE, signal);
  }
}

export async function dropNotice(storage: RegistryStorage, owner: string, signal: AbortSignal): Promise<void> {
  if ((await readNotice(storage, signal))?.owner === owner) await storage.remove(GC_NOTICE, signal);
}

export async function untilNobodyCollects(
  storage: RegistryStorage,
  nowMs: () => number,
  onWait: () => void,
  signal: AbortSignal,
): Promise<void> {
  for (let look = 0; ; look++) {
    const notice = await readNotice(storage, signal);
    if (notice === undefined || !isInForce(notice, nowMs())) return;
    if (look === 0) onWait();
    await sleep(LOOK_EVERY_MS, undefined, { signal });
  }
}

function isInForce({ untilMs }: Notice, nowMs: number): boolean {
  // Nor one that claims more time than any collection takes: a push waits for it.
  return nowMs < untilMs + CLOCK_MARGIN_MS && untilMs <= nowMs + GC_MAX_MS + CLOCK_MARGIN_MS;
}

async function readNotice(storage: RegistryStorage, signal: AbortSignal): Promise<Notice | undefined> {
  const bytes = await storage.readSmall(GC_NOTICE, signal);
  if (bytes === undefined) return undefined;
  try {
    return schema.parse(JSON.parse(bytes.toString('utf8')));
  } catch {
    throw new ServingError(
      'REGISTRY_CORRUPT',
      `${storage.address}: ${GC_NOTICE} is no notice of a collection; remove that object`,
    );
  }
}
