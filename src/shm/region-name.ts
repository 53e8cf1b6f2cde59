/**
 * Names of regions and of the owner files beside them, and whose they are. Pure.
 *
 *   region  rag-<worker>-<nonce>          owner  rag-<worker>-<nonce>.owner
 *   registration  rag-<worker>-<nonce>, and rag-<worker>-<nonce>.<n> from the second one on
 *
 * A name is unique to one process incarnation: a server maps the inode at registration, so a reused name would
 * silently keep a dead process's memory. The nonce has a fixed length and is read from the right, therefore a worker
 * id may hold "-" itself. Two worker ids never share a name: an id of harmless characters stands for itself, any other
 * is shortened and carries "~" and a hash of the whole id, and "~" is not a harmless character.
 */
import { createHash, randomBytes } from 'node:crypto';
import { ServingError } from '../errors.ts';

const HARMLESS_ID = /^[A-Za-z0-9._-]{1,40}$/;
const NAME = /^rag-(?<worker>[A-Za-z0-9._~-]{1,40})-(?<nonce>[0-9a-f]{16})(?:(?<owner>\.owner)|\.[1-9][0-9]{0,8})?$/;

/** Which process a file or a registration belongs to. */
export type IncarnationName = { readonly worker: string; readonly nonce: string; readonly kind: 'region' | 'owner' };

/** The part of a name that stands for a worker id: at most 40 characters. */
export function workerPart(workerId: string): string {
  if (workerId === '') {
    throw new ServingError('SHM_INVALID', 'the worker id is empty; set RAG_SERVING_WORKER_ID');
  }
  if (HARMLESS_ID.test(workerId)) return workerId;
  const readable = workerId.replaceAll(/[^A-Za-z0-9._-]/g, '_').slice(0, 23);
  const hash = createHash('sha256').update(workerId).digest('hex').slice(0, 16);
  return `${readable}~${hash}`;
}

/** 16 hex digits, fresh for each incarnation. */
export function randomNonce(): string {
  return randomBytes(8).toString('hex');
}

export function regionName(workerId: string, nonce: string): string {
  return `rag-${workerPart(workerId)}-${nonce}`;
}

/** The name that the server knows the region by, new with each registration: see registration.ts. `turn` counts from 1. */
export function registrationName(region: string, turn: number): string {
  return turn === 1 ? region : `${region}.${turn}`;
}

export function ownerFileName(workerId: string, nonce: string): string {
  return `${regionName(workerId, nonce)}.owner`;
}

/** Undefined for a name that no worker of ours would give. */
export function parseName(name: string): IncarnationName | undefined {
  const { worker, nonce, owner } = NAME.exec(name)?.groups ?? {};
  if (worker === undefined || nonce === undefined) return undefined;
  return { worker, nonce, kind: owner === undefined ? 'region' : 'owner' };
}

export function belongsTo(name: IncarnationName, workerId: string): boolean {
  return name.worker === workerPart(workerId);
}
