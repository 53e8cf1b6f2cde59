/** What the process is given: Node, open files, memory. */
import { readFile } from 'node:fs/promises';
import { totalmem } from 'node:os';
import { bytesText } from '../../tool/bytes-text.ts';
import { fail, type Outcome, ok, skipped, warn } from '../check.ts';

/** As package.json says. */
const LEAST_NODE = [20, 19] as const;
/** Connections, the tables of an embedded store and shared memory together stay far below. */
const FEW_FILES = 1_024;
const TOO_FEW_FILES = 256;
/** Above what is counted: the allocator keeps some of what was freed. */
const HEADROOM = 1.25;

export function nodeVerdict(version: string): Outcome {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  const [leastMajor, leastMinor] = LEAST_NODE;
  if (major > leastMajor || (major === leastMajor && minor >= leastMinor)) return ok(`Node ${version}`);
  return fail(`Node ${version}`, `install Node ${LEAST_NODE.join('.')} or newer`);
}

/** `limits` as /proc/self/limits reads; undefined where there is no such file. */
export function openFilesVerdict(limits: string | undefined): Outcome {
  const soft = /^Max open files\s+(\d+|unlimited)/m.exec(limits ?? '')?.[1];
  if (soft === undefined) return skipped('this system does not tell its limits in /proc');
  const files = soft === 'unlimited' ? Number.POSITIVE_INFINITY : Number(soft);
  const remedy = 'raise the limit (ulimit -n, LimitNOFILE of a service, the container runtime)';
  if (files < TOO_FEW_FILES) return fail(`${soft} open files are allowed`, remedy);
  return files < FEW_FILES ? warn(`${soft} open files are allowed`, remedy) : ok(`${soft} open files are allowed`);
}

export async function lookAtOpenFiles(): Promise<Outcome> {
  return openFilesVerdict(await readFile('/proc/self/limits', 'utf8').catch(() => undefined));
}

export function memoryVerdict(neededBytes: number, limitBytes: number): Outcome {
  const found = `a worker may take ${bytesText(neededBytes)}, of ${bytesText(limitBytes)} that this process may have`;
  const remedy = 'raise the memory limit, or lower RAG_SERVING_MAX_IN_FLIGHT_BYTES or RAG_SERVING_SHM_SLOTS';
  if (limitBytes < neededBytes) return fail(found, remedy);
  return limitBytes < neededBytes * HEADROOM ? warn(found, remedy) : ok(found);
}

/** Of the control group where it has one, else of the machine. */
export function memoryLimitBytes(): number {
  // 0, or more than there is, means no limit.
  const constrained = process.constrainedMemory();
  return constrained > 0 ? Math.min(constrained, totalmem()) : totalmem();
}
