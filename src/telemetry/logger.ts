/**
 * Log implemented by pino: one JSON object a line. Everything passes through redaction first, bindings included.
 * Writing is synchronous, so that the last words before an exit are not lost; a closed pipe is not worth a crash.
 */
import { type DestinationStream, destination, type Logger, pino, stdTimeFunctions } from 'pino';
import type { LogLevel } from '../config/setting.ts';
import type { Log, LogFields } from './log.ts';
import { createRedactor, type Redactor } from './redaction.ts';

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
};

const PINO_LEVELS = { DEBUG: 'debug', INFO: 'info', WARNING: 'warn', ERROR: 'error' } as const satisfies Record<
  LogLevel,
  string
>;
const LABELS: Readonly<Record<string, LogLevel>> = { debug: 'DEBUG', info: 'INFO', warn: 'WARNING', error: 'ERROR' };
/** Written by the logger itself; a field of that name would appear twice in the line. */
const OWN = new Set(['level', 'time', 'msg', 'service', 'pool', 'worker']);

export function createLogger(options: LoggerOptions): Log {
  const { level, service, pool, worker, secrets = [] } = options;
  const redactor = createRedactor({ secrets });
  const base = {
    service,
    ...(pool === undefined ? {} : { pool }),
    ...(worker === undefined ? {} : { worker: redactor.text(worker) }),
  };
  const logger = pino(
    {
      level: PINO_LEVELS[level],
      base,
      timestamp: stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: LABELS[label] ?? label.toUpperCase() }) },
      serializers: {},
    },
    options.stream ?? openDestination(options.fileDescriptor ?? 1),
  );
  return new PinoLog(logger, redactor);
}

function openDestination(fileDescriptor: 1 | 2): DestinationStream {
  const opened = destination({ dest: fileDescriptor, sync: true });
  opened.on('error', () => {});
  return opened;
}

type PinoLevel = (typeof PINO_LEVELS)[LogLevel];

class PinoLog implements Log {
  readonly #logger: Logger;
  readonly #redactor: Redactor;

  constructor(logger: Logger, redactor: Redactor) {
    this.#logger = logger;
    this.#redactor = redactor;
  }

  debug(message: string, fields?: LogFields): void {
    this.#write('debug', message, fields);
  }

  info(message: string, fields?: LogFields): void {
    this.#write('info', message, fields);
  }

  warn(message: string, fields?: LogFields): void {
    this.#write('warn', message, fields);
  }

  error(message: string, fields?: LogFields): void {
    this.#write('error', message, fields);
  }

  child(bindings: LogFields): Log {
    return new PinoLog(this.#logger.child(this.#safe(bindings)), this.#redactor);
  }

  #write(level: PinoLevel, message: string, fields: LogFields | undefined): void {
    if (!this.#logger.isLevelEnabled(level)) return;
    const safe = this.#redactor.text(message);
    try {
      this.#logger[level](fields === undefined ? {} : this.#safe(fields), safe);
    } catch {
      // A full disk or a closed pipe must not stop the work that was to be logged.
    }
  }

  #safe(fields: LogFields): Record<string, unknown> {
    const safe = this.#redactor.fields(fields);
    const renamed = Object.entries(safe).map(([key, value]) => [OWN.has(key) ? `${key}_` : key, value]);
    return Object.fromEntries(renamed);
  }
}
