/**
 * An error as plain data for a log line: code, class, message, frames of the stack, causes.
 *
 * Our own messages are written to be logged. Foreign ones may quote what they were given: JSON.parse quotes the text,
 * Redis its arguments, a database the value of a column, Node the argument it refused. Those kinds are known and their
 * messages withheld or cut; in any other foreign message quotations of more than a name are replaced. Of foreign properties only harmless ones are kept: ioredis
 * hangs the whole command (vectors, texts) on its errors.
 */
import { isServingError } from '../errors.ts';

export type ErrorWalk = {
  text(text: string): string;
  deeper(part: unknown): unknown;
  fields(part: object): Record<string, unknown>;
};

/** Messages of these quote their input in ways that cannot be told apart from the rest. */
const WITHHELD = /^(SyntaxError|ZodError|\$ZodError|\$ZodRealError|AssertionError|URIError|JSONParseError)$/;
/** Everything from the first quotation (or `Received`, Node's word before the value) on is cut. */
const QUOTES_INPUT_NAME = /^(ReplyError|ParserError|MissingSlotError)$/;
/** SQL databases by their SQLSTATE, five characters: they quote values, and rows in parentheses. */
const SQLSTATE = /^[0-9A-Z]{2}[0-9A-Z]{3}$/;
const OF_DATABASE = /^(DatabaseError|PostgresError|SqliteError|QueryFailedError|SqlError)$/;
/** What JSON.parse says, when somebody put it into an error of his own. */
const SAYS_JSON = /is not valid JSON|in JSON at position|Unexpected (?:token|end of JSON)|JSON\.parse/i;
const QUOTES_INPUT_CODE = /^ERR_(INVALID_|OUT_OF_RANGE|HTTP_INVALID|UNKNOWN_)/;
const HARMLESS = ['code', 'errno', 'syscall', 'type', 'retriable', 'failureClass', 'status', 'statusCode'] as const;
const MAX_FRAMES = 24;
const MAX_ERRORS = 8;
const LONGEST_NAME = 48;
const MAX_FOREIGN_MESSAGE = 512;
const FRAME =
  /^\s+at (?:async )?[\w.$<>[\] #*-]{0,200} ?\(?(?:[\w@./:\\+%~ -]{1,400}:\d+:\d+|native|<anonymous>|index \d+)\)?$/;

export function describeError(error: Error, walk: ErrorWalk): Record<string, unknown> {
  const name = read(() => error.name) ?? 'Error';
  const described: Record<string, unknown> = { type: walk.text(String(name)).slice(0, 64) };
  for (const key of HARMLESS) {
    const part = read(() => (error as unknown as Record<string, unknown>)[key]);
    const simple = typeof part === 'string' ? walk.text(part).slice(0, 64) : part;
    if (typeof simple === 'string' || typeof simple === 'number' || typeof simple === 'boolean')
      described[key] = simple;
  }
  described.message = walk.text(safeMessage(error, String(name)));
  const frames = framesOf(error);
  if (frames.length > 0) described.stack = walk.text(frames.join('\n'));
  if (isServingError(error)) {
    const details = walk.fields(error.details);
    if (Object.keys(details).length > 0) described.details = details;
  }
  const cause = read(() => error.cause);
  if (cause !== undefined) described.cause = describeCause(cause, walk);
  const errors = read(() => (error as { errors?: unknown }).errors);
  if (Array.isArray(errors)) described.errors = errors.slice(0, MAX_ERRORS).map((part) => describeCause(part, walk));
  return described;
}

/** What may be shown of an error's message; also for the command line. */
export function safeMessage(error: Error, name = String(read(() => error.name))): string {
  const message = read(() => error.message);
  if (typeof message !== 'string') return '[unreadable message]';
  if (isServingError(error)) return message;
  if (WITHHELD.test(name) || error instanceof SyntaxError)
    return `[message of ${name.slice(0, 64)} withheld: it may quote its input]`;
  const code = read(() => (error as { code?: unknown }).code);
  if (SAYS_JSON.test(message)) return '[message about JSON withheld: it may quote its input]';
  if (OF_DATABASE.test(name) || (typeof code === 'string' && SQLSTATE.test(code) && 'severity' in error))
    return '[message of a database withheld: it may quote a row]';
  const quotesInput = QUOTES_INPUT_NAME.test(name) || (typeof code === 'string' && QUOTES_INPUT_CODE.test(code));
  const told = quotesInput ? cutAtQuotation(message) : withoutQuotations(message);
  return told.length > MAX_FOREIGN_MESSAGE ? `${told.slice(0, MAX_FOREIGN_MESSAGE)}… [cut]` : told;
}

function cutAtQuotation(message: string): string {
  const at = message.search(/['"`{[<(=]|: |Received|args beginning with/);
  return at === -1 ? message : `${message.slice(0, at).trimEnd()} [rest withheld]`;
}

/** A name in quotation marks helps to understand; what is longer, or has several words, may be somebody's text. */
function withoutQuotations(message: string): string {
  return message
    .slice(0, 4_096)
    .replace(/(["'`])((?:(?!\1)[^\\]|\\.){1,2000})\1/gs, (quoted: string, _mark: string, inside: string) =>
      inside.length > LONGEST_NAME || /\s/.test(inside) ? `[quotation of ${inside.length} characters]` : quoted,
    );
}

/** A cause that is no error may be anything, a text of a user too: only its kind is told. */
function describeCause(cause: unknown, walk: ErrorWalk): unknown {
  if (cause instanceof Error) return walk.deeper(cause);
  return cause === null ? 'null' : `[${typeof cause} thrown]`;
}

/**
 * Lines that look like frames and nothing else: a stack begins with the message, which may span lines and may have been
 * changed since.
 */
function framesOf(error: Error): string[] {
  const stack = read(() => error.stack);
  if (typeof stack !== 'string') return [];
  const message = read(() => error.message);
  const start = typeof message === 'string' && message !== '' ? stack.indexOf(message) : -1;
  const behind = start === -1 ? stack : stack.slice(start + (message as string).length);
  return behind
    .slice(0, 16_384)
    .split('\n')
    .filter((line) => FRAME.test(line))
    .slice(0, MAX_FRAMES);
}

function read<T>(get: () => T): T | undefined {
  try {
    return get();
  } catch {
    return undefined;
  }
}
