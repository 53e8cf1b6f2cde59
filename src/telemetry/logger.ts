/**
 * Log implemented by pino: one JSON object a line. Everything passes through redaction first, bindings included.
 * Writing is synchronous, so that the last words before an exit are not lost; a closed pipe is not worth a crash.
 *
 * The level is one for a logger and all its children, and can be changed while they are in use: pino's own is a child's for
 * life. Warnings and errors that repeat themselves are summed up (repeats.ts), except at DEBUG, where every line is wanted.
 */
import { type DestinationStream, destination, type Logger, pino, stdTimeFunctions } from 'pino';
import type { LogLevel } from '../config/setting.ts';
import { EventCodes } from './event-code.ts';
import type { Log, LogFields } from './log.ts';
import { createRedactor, type Redactor } from './redaction.ts';
import { Repeats, repeatKey, type Summary } from './repeats.ts';

export type LoggerOptions = {
  readonly level: LogLevel;
  readonly service: string;
  readonly pool?: string;
  readonly worker?: string;
  /** From `secretSpellings`: masked wherever they occur. */
  readonly secrets?: readonly string[];
  /** 1 is standard output, 2 standard error. */
  readonly fileDescriptor?: 1 | 2;
  /** Instead of a file descriptor; gets whole lines. */
  readonly stream?: DestinationStream;
  /** Monotonic milliseconds. */
  readonly nowMs?: () => number;
};

/** A log whose level its owner can change. */
export type LevelledLog = Log & {
  readonly level: LogLevel;
  setLevel(level: LogLevel): void;
  /** Writes the summaries of what is being held back. The end of the process does it too. */
  flush(): void;
};

const PINO_LEVELS = { DEBUG: 'debug', INFO: 'info', WARNING: 'warn', ERROR: 'error' } as const satisfies Record<
  LogLevel,
  string
>;
const LABELS: Readonly<Record<string, LogLevel>> = { debug: 'DEBUG', info: 'INFO', warn: 'WARNING', error: 'ERROR' };
/** Written by the logger itself; a field of that name would appear twice in the line. */
const OWN = new Set(['level', 'time', 'msg', 'service', 'pool', 'worker']);

const RANKS = { DEBUG: 0, INFO: 1, WARNING: 2, ERROR: 3 } as const satisfies Record<LogLevel, number>;
const REPEATS = { windowMs: 10_000, maxKinds: 256 } as const;

export function createLogger(options: LoggerOptions): LevelledLog {
  const { level, service, pool, worker, secrets = [] } = options;
  const redactor = createRedactor({ secrets });
  const base = {
    service,
    ...(pool === undefined ? {} : { pool }),
    ...(worker === undefined ? {} : { worker: redactor.text(worker) }),
  };
  const logger = pino(
    {
      level: 'debug',
      base,
      timestamp: stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: LABELS[label] ?? label.toUpperCase() }) },
      serializers: {},
    },
    options.stream ?? openDestination(options.fileDescriptor ?? 1),
  );
  return new PinoLog(logger, '', new Writer(level, redactor, options.nowMs ?? (() => performance.now())));
}

function openDestination(fileDescriptor: 1 | 2): DestinationStream {
  const opened = destination({ dest: fileDescriptor, sync: true });
  opened.on('error', () => {});
  return opened;
}

type Line = { readonly logger: Logger; readonly level: LogLevel; readonly fields: object; readonly message: string };

/** What a logger and its children have in common. */
class Writer {
  level: LogLevel;
  readonly redactor: Redactor;
  readonly #codes = new EventCodes();
  readonly #repeats = new Repeats<Line>(REPEATS);
  readonly #nowMs: () => number;
  #timer: NodeJS.Timeout | undefined;
  readonly #onExit = () => this.flush();

  constructor(level: LogLevel, redactor: Redactor, nowMs: () => number) {
    this.level = level;
    this.redactor = redactor;
    this.#nowMs = nowMs;
  }

  /** `scope`: the bindings of a child, as far as they tell its lines from those of others. */
  write(logger: Logger, scope: string, level: LogLevel, message: string, fields: LogFields): void {
    if (RANKS[level] < RANKS[this.level]) return;
    const safe = this.safe(fields);
    const told = this.redactor.text(message);
    const event = typeof safe.event === 'string' ? safe.event : this.#codes.of(told);
    const line = { logger, level, fields: { ...safe, event }, message: told };
    if (RANKS[level] < RANKS.WARNING || this.level === 'DEBUG') {
      put(line);
      return;
    }
    const { write, summaries } = this.#repeats.see(repeatKey(scope, `${level} ${event}`, safe), line, this.#nowMs());
    for (const summary of summaries) sumUp(summary);
    if (write) put(line);
    this.#arm();
  }

  safe(fields: LogFields): Record<string, unknown> {
    const safe = this.redactor.fields(fields);
    const renamed = Object.entries(safe).map(([key, value]) => [OWN.has(key) ? `${key}_` : key, value]);
    return Object.fromEntries(renamed);
  }

  flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    process.removeListener('exit', this.#onExit);
    for (const summary of this.#repeats.flush()) sumUp(summary);
  }

  #arm(): void {
    const dueMs = this.#repeats.nextDueMs;
    if (this.#timer !== undefined || dueMs === undefined) return;
    process.once('exit', this.#onExit);
    const onDue = () => {
      this.#timer = undefined;
      process.removeListener('exit', this.#onExit);
      for (const summary of this.#repeats.due(this.#nowMs())) sumUp(summary);
      this.#arm();
    };
    this.#timer = setTimeout(onDue, Math.max(1, dueMs - this.#nowMs())).unref();
  }
}

function sumUp({ line, repeated }: Summary<Line>): void {
  put({ ...line, fields: { ...line.fields, repeated, withinMs: REPEATS.windowMs } });
}

function put({ logger, level, fields, message }: Line): void {
  try {
    logger[PINO_LEVELS[level]](fields, message);
  } catch {
    // A full disk or a closed pipe must not stop the work that was to be logged.
  }
}

class PinoLog implements LevelledLog {
  readonly #logger: Logger;
  readonly #scope: string;
  readonly #writer: Writer;

  constructor(logger: Logger, scope: string, writer: Writer) {
    this.#logger = logger;
    this.#scope = scope;
    this.#writer = writer;
  }

  get level(): LogLevel {
    return this.#writer.level;
  }

  setLevel(level: LogLevel): void {
    this.#writer.level = level;
  }

  flush(): void {
    this.#writer.flush();
  }

  debug(message: string, fields: LogFields = {}): void {
    this.#writer.write(this.#logger, this.#scope, 'DEBUG', message, fields);
  }

  info(message: string, fields: LogFields = {}): void {
    this.#writer.write(this.#logger, this.#scope, 'INFO', message, fields);
  }

  warn(message: string, fields: LogFields = {}): void {
    this.#writer.write(this.#logger, this.#scope, 'WARNING', message, fields);
  }

  error(message: string, fields: LogFields = {}): void {
    this.#writer.write(this.#logger, this.#scope, 'ERROR', message, fields);
  }

  child(bindings: LogFields): LevelledLog {
    const safe = this.#writer.safe(bindings);
    return new PinoLog(this.#logger.child(safe), repeatKey(this.#scope, '', safe), this.#writer);
  }
}
