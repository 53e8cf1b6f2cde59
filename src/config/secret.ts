/**
 * A value that must not be printed. Whatever prints it by accident (JSON, template string, inspect) gets its printable
 * form; the one way to the value is `reveal()`, called where a client is built.
 */
const inspect = Symbol.for('nodejs.util.inspect.custom');

export class Secret {
  readonly #value: string;
  readonly #printable: string;

  constructor(value: string, printable = '[set]') {
    this.#value = value;
    this.#printable = printable;
  }

  reveal(): string {
    return this.#value;
  }

  toString(): string {
    return this.#printable;
  }

  toJSON(): string {
    return this.#printable;
  }

  [inspect](): string {
    return this.#printable;
  }
}
