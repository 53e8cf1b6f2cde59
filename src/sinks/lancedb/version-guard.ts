/**
 * Notices a second writer: each commit must be the successor of our last one. Pure.
 *
 * Two commits of ours are not in the writer's lane: one that failed without an answer (it may have happened), and those of
 * maintenance beside the writes. While maintenance runs any successor is taken, and the count starts anew behind it.
 */
import { ServingError } from '../../errors.ts';

export class VersionGuard {
  readonly #collection: string;
  /** Version of our last commit; undefined when it is to be read anew. */
  #version: number | undefined;
  #mayBeOneAhead = false;
  #maintaining = false;
  /** Maintenance ran at some time of the commit under way. */
  #lenient = false;
  /** Once another writer was seen, nothing here can be trusted: every later call fails alike. */
  #stranger: ServingError | undefined;

  constructor(collection: string, version: number) {
    this.#collection = collection;
    this.#version = version;
  }

  /** A commit begins; throws when a stranger was seen. */
  begin(): void {
    if (this.#stranger !== undefined) throw this.#stranger;
    this.#lenient = this.#maintaining;
  }

  /** Before a commit: the version that is there. */
  check(found: number): void {
    if (this.#lenient) this.#version = undefined;
    const expected = this.#version ?? found;
    if (found !== expected && !(this.#mayBeOneAhead && found === expected + 1)) this.#refuse(found);
    this.#version = this.#lenient ? undefined : found;
    this.#mayBeOneAhead = false;
  }

  /** After a commit: the version that it made. */
  advance(version: number): void {
    if (this.#lenient) this.#version = undefined;
    else {
      if (this.#version !== undefined && version !== this.#version + 1) this.#refuse(version);
      this.#version = version;
    }
  }

  /** Commits that were answered have been counted, so at most the one that failed is in doubt. */
  failed(): void {
    this.#mayBeOneAhead = true;
  }

  maintenanceBegins(): void {
    this.#maintaining = true;
    this.#lenient = true;
  }

  /** @param version as it is now, when no commit was beside it */
  maintenanceEnds(version: number | undefined): void {
    this.#maintaining = false;
    this.#version = version;
  }

  #refuse(version: number): never {
    this.#stranger = new ServingError(
      'CONFIG_INVALID',
      `another process changes the ${this.#collection}: a table takes one writer. ` +
        'Give each worker its own RAG_SERVING_LANCEDB_TABLE, run one worker, or choose RAG_SERVING_SINK=redis',
      { details: { expectedVersion: this.#version, foundVersion: version } },
    );
    throw this.#stranger;
  }
}
