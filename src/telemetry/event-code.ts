/**
 * The event code of a log line: its constant message as one word, for whoever counts or filters lines. A line that has an
 * `event` of its own keeps it. Pure.
 */
const LONGEST = 80;
const MOST_KNOWN = 1_000;

export class EventCodes {
  readonly #known = new Map<string, string>();

  of(message: string): string {
    const known = this.#known.get(message);
    if (known !== undefined) return known;
    const code = eventCode(message);
    // Messages are constant; one that is not must not grow this without end.
    if (this.#known.size < MOST_KNOWN) this.#known.set(message, code);
    return code;
  }
}

export function eventCode(message: string): string {
  const words = message
    .slice(0, 4 * LONGEST)
    .toLowerCase()
    .split(/[^a-z0-9]+/)
    .filter((word) => word !== '');
  let code = '';
  for (const word of words) {
    if (code.length + word.length >= LONGEST) break;
    code = code === '' ? word : `${code}-${word}`;
  }
  return code === '' ? 'unnamed' : code;
}
