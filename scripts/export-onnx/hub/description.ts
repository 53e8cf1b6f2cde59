/** What a hub has of a model: the commit that a revision stands for, and its files with their sizes and checksums. */
import { z } from 'zod';
import { ServingError } from '../../../src/errors.ts';
import { get, type HubOptions, withRetries } from './connection.ts';

export type HubFile = {
  readonly path: string;
  readonly sizeBytes: number;
  /** Large files have a SHA-256, small ones the SHA-1 that git gives a blob. */
  readonly checksum: { readonly kind: 'sha256' | 'git-sha1'; readonly hex: string };
};

export type HubModel = { readonly id: string; readonly commit: string; readonly files: readonly HubFile[] };

const hex = (digits: number) => z.string().regex(new RegExp(`^[0-9a-f]{${digits}}$`));
const answer = z.looseObject({
  sha: hex(40),
  siblings: z.array(
    z.looseObject({
      rfilename: z.string(),
      size: z.number().int().nonnegative().optional(),
      blobId: hex(40).optional(),
      lfs: z.looseObject({ sha256: hex(64), size: z.number().int().nonnegative() }).nullish(),
    }),
  ),
});

/** `revision`: a branch, a tag or a commit. Throws DEPENDENCY_MISSING. */
export async function describeModel(
  hub: HubOptions,
  id: string,
  revision: string,
  signal: AbortSignal,
): Promise<HubModel> {
  const what = `${id} at ${revision}`;
  const path = `/api/models/${id}/revision/${encodeURIComponent(revision)}?blobs=true`;
  const body = await withRetries(
    hub,
    what,
    async (_alive, attemptSignal) => (await get(hub, path, {}, attemptSignal)).text(),
    signal,
  );
  const parsed = answer.safeParse(asJson(body));
  if (!parsed.success) {
    throw new ServingError(
      'DEPENDENCY_MISSING',
      `${what}: ${hub.endpoint} does not answer like a hub: check HF_ENDPOINT`,
      {
        cause: parsed.error,
      },
    );
  }
  const { sha, siblings } = parsed.data;
  return { id, commit: sha, files: siblings.flatMap(hubFile) };
}

type Sibling = z.infer<typeof answer>['siblings'][number];

/** A file without a checksum cannot be taken, so it is as if it were not there. */
function hubFile({ rfilename: path, size, blobId, lfs }: Sibling): HubFile[] {
  // What a name could do on our disk: nothing, it is only compared with names and joined below one folder.
  if (path.startsWith('/') || path.split(/[/\\]/).includes('..')) return [];
  if (lfs) return [{ path, sizeBytes: lfs.size, checksum: { kind: 'sha256', hex: lfs.sha256 } }];
  if (size === undefined || blobId === undefined) return [];
  return [{ path, sizeBytes: size, checksum: { kind: 'git-sha1', hex: blobId } }];
}

function asJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
