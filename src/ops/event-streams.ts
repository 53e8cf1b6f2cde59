/**
 * The open streams of /events: one look at the snapshot for all of them, sent when it has changed, and a sign of life when
 * it has not.
 *
 * A reader that has not taken the last snapshot gets no other in between, so nothing piles up for it; one that stays behind
 * is dropped. Nothing runs while nobody reads.
 */
import type { ServerResponse } from 'node:http';
import type { StatusSnapshot } from './status-schema.ts';

export const EVERY_MS = 2_000;
/** Each is a person with the page open, and holds a connection. */
export const MOST_STREAMS = 64;
/** Looks that a reader may stay behind. */
const MAY_MISS = 5;

/** A comment of the event-stream format. */
const SIGN_OF_LIFE = ': still the same\n\n';

/** `sent`: the last snapshot it was given. `missed`: looks in a row at which it had not taken that yet. */
type Stream = { readonly response: ServerResponse; sent: string; missed: number };

export type EventStreamsOptions = {
  take(): StatusSnapshot;
  /** Told why a snapshot failed. The streams are ended then; whoever comes again gets the error. */
  onFault?: ((error: unknown) => void) | undefined;
  readonly everyMs?: number;
};

export class EventStreams {
  readonly #options: EventStreamsOptions;
  readonly #streams = new Set<Stream>();
  #timer: NodeJS.Timeout | undefined;

  constructor(options: EventStreamsOptions) {
    this.#options = options;
  }

  get count(): number {
    return this.#streams.size;
  }

  get full(): boolean {
    return this.#streams.size >= MOST_STREAMS;
  }

  /** The head is already written. The first event comes at once. */
  add(response: ServerResponse, first: StatusSnapshot): void {
    const stream: Stream = { response, sent: withoutTime(first), missed: 0 };
    this.#streams.add(stream);
    response.on('close', () => this.#remove(stream));
    response.on('error', () => this.#remove(stream));
    response.write(eventOf(first));
    this.#timer ??= setInterval(() => this.#look(), this.#options.everyMs ?? EVERY_MS).unref();
  }

  /** Shows the last snapshot and ends every stream; a reader that is behind is cut off. */
  close(): void {
    this.#look();
    this.#endAll();
  }

  #look(): void {
    if (this.#streams.size === 0) return;
    let snapshot: StatusSnapshot;
    try {
      snapshot = this.#options.take();
    } catch (error) {
      this.#options.onFault?.(error);
      this.#endAll();
      return;
    }
    const content = withoutTime(snapshot);
    const event = eventOf(snapshot);
    for (const stream of this.#streams) send(stream, content, event);
  }

  #endAll(): void {
    for (const { response } of this.#streams) {
      if (response.writableNeedDrain) response.destroy();
      else response.end();
    }
  }

  #remove(stream: Stream): void {
    this.#streams.delete(stream);
    if (this.#streams.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }
}

function send(stream: Stream, content: string, event: string): void {
  const { response } = stream;
  if (response.writableNeedDrain) {
    stream.missed++;
    if (stream.missed >= MAY_MISS) response.destroy();
    return;
  }
  stream.missed = 0;
  response.write(content === stream.sent ? SIGN_OF_LIFE : event);
  stream.sent = content;
}

/** One line: JSON has no line ends of its own. */
function eventOf(snapshot: StatusSnapshot): string {
  return `event: status\ndata: ${JSON.stringify(snapshot)}\n\n`;
}

function withoutTime(snapshot: StatusSnapshot): string {
  return JSON.stringify({ ...snapshot, at: '', uptimeSeconds: 0 });
}
