/**
 * Loads a sink from outside the package and says plainly what is wrong with it: not found, fails to load, no factory, a
 * factory that throws or never answers, an object that is no sink.
 *
 * A package is looked for where the program was started, then beside this package.
 */
import { stat } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { boundedWait } from '../../bounded-wait.ts';
import { isServingError, ServingError } from '../../errors.ts';
import type { Sink } from '../sink.ts';
import type { CreateSink, SinkModuleOptions } from './factory.ts';
import { guarded, ownError } from './guarded.ts';

export type ModuleSinkOptions = Omit<SinkModuleOptions, 'log'> & {
  /** Path or package. RAG_SERVING_SINK_MODULE */
  readonly module: string;
  readonly loadTimeoutMs?: number;
  /** How long one call may take. */
  readonly callTimeoutMs?: number;
};

const METHODS = [
  'open',
  'inspect',
  'write',
  'remove',
  'ping',
  'count',
  'search',
  'fetch',
  'close',
] as const satisfies readonly (keyof Sink)[];
const NAME = /^[a-z0-9][a-z0-9-]{0,31}$/;
const LOAD_TIMEOUT_MS = 15_000;
const CALL_TIMEOUT_MS = 60_000;

export async function loadModuleSink(options: ModuleSinkOptions, log: SinkModuleOptions['log']): Promise<Sink> {
  const { module, loadTimeoutMs = LOAD_TIMEOUT_MS, callTimeoutMs = CALL_TIMEOUT_MS, ...given } = options;
  const within = <T>(work: Promise<T>, what: string): Promise<T> =>
    boundedWait(work, { maxWaitMs: loadTimeoutMs, signal: undefined }, () =>
      fault(module, `${what} has not ended within ${loadTimeoutMs} ms`),
    );
  const loaded = await within(importModule(module), 'loading it');
  const createSink = factoryOf(loaded);
  if (createSink === undefined) {
    const names = Object.keys(loaded);
    throw fault(
      module,
      `exports no function createSink (${names.length === 0 ? 'it exports nothing' : `it exports ${names.slice(0, 20).join(', ')}`})`,
    );
  }
  const sink = await within(
    (async () => createSink({ ...given, log }))().catch((cause) => {
      const own = ownError(cause);
      if (own !== undefined) throw own;
      throw fault(module, 'createSink threw', cause);
    }),
    'createSink',
  );
  checkShape(module, sink);
  return guarded(sink, callTimeoutMs);
}

async function importModule(module: string): Promise<Record<string, unknown>> {
  const isPath = /^(\.{1,2}[/\\]|\/|file:|[A-Za-z]:[/\\])/.test(module);
  if (isPath && (await isFolder(module))) throw fault(module, 'is a folder: name its file');
  const target = isPath ? addressOf(module) : packageAddress(module);
  try {
    return (await import(target)) as Record<string, unknown>;
  } catch (cause) {
    if (isServingError(cause)) throw cause;
    const code = (cause as NodeJS.ErrnoException | undefined)?.code;
    // The same code says that something it imports is missing; then its own address is not in the text.
    const names = cause instanceof Error && (cause.message.includes(target) || cause.message.includes(module));
    if ((code === 'ERR_MODULE_NOT_FOUND' || code === 'MODULE_NOT_FOUND') && names) {
      throw fault(module, isPath ? 'there is no such file' : 'no such package is installed', cause);
    }
    const text = cause instanceof Error ? `${cause.name}: ${cause.message.split('\n')[0]}` : typeof cause;
    throw fault(module, `cannot be loaded (${text})`, cause);
  }
}

async function isFolder(path: string): Promise<boolean> {
  if (path.startsWith('file:')) return false;
  return stat(path).then(
    (found) => found.isDirectory(),
    () => false,
  );
}

function addressOf(path: string): string {
  return path.startsWith('file:') ? path : pathToFileURL(resolve(path)).href;
}

function packageAddress(name: string): string {
  try {
    return pathToFileURL(createRequire(join(process.cwd(), 'package.json')).resolve(name)).href;
  } catch {
    return name;
  }
}

/** A CommonJS module is the default export of itself. */
function factoryOf(loaded: Record<string, unknown>): CreateSink | undefined {
  const candidates = [loaded.createSink, (loaded.default as { createSink?: unknown } | undefined)?.createSink];
  return candidates.find((candidate): candidate is CreateSink => typeof candidate === 'function');
}

function checkShape(module: string, sink: unknown): asserts sink is Sink {
  if (typeof sink !== 'object' || sink === null) throw fault(module, 'createSink gave no object');
  const members = sink as Readonly<Record<string, unknown>>;
  const missing = METHODS.filter((method) => typeof members[method] !== 'function');
  if (missing.length > 0) throw fault(module, `its sink lacks the methods ${missing.join(', ')}`);
  if (typeof members.name !== 'string' || !NAME.test(members.name)) {
    throw fault(module, 'its sink has no usable name: 1–32 lower-case letters, digits and hyphens');
  }
}

function fault(module: string, says: string, cause?: unknown): ServingError {
  return new ServingError(
    'CONFIG_INVALID',
    `RAG_SERVING_SINK_MODULE ${module}: ${says}. See docs/sinks/writing-a-sink.md`,
    {
      cause,
    },
  );
}
