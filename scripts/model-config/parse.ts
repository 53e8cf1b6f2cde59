/**
 * Reads a config.pbtxt against the schema and says all that is wrong with it, each with its line.
 *
 * A field that is not known, an enum value that does not exist or a value of the wrong type is a problem, and reading goes
 * on behind it; a text that is not text format ends the reading where it stops being it.
 */
import { create, type DescField, type DescMessage, type MessageShape } from '@bufbuild/protobuf';
import { type ReflectMessage, reflect } from '@bufbuild/protobuf/reflect';
import { type ModelConfig, ModelConfigSchema } from '../../src/kserve/gen/model_config_pb.ts';
import { readScalar } from './scalars.ts';
import { TextFormatError, type Token, tokensOf } from './text-tokens.ts';

export type LineProblem = { readonly line: number; readonly message: string };

export function parseConfig(text: string): { readonly config: ModelConfig; readonly problems: LineProblem[] } {
  const config = create(ModelConfigSchema);
  const problems: LineProblem[] = [];
  try {
    const reader = new Reader(tokensOf(text), problems);
    reader.message(reflect(ModelConfigSchema, config), undefined);
  } catch (error) {
    if (!(error instanceof TextFormatError)) throw error;
    problems.push({ line: error.line, message: error.message });
  }
  return { config, problems };
}

const CLOSING: Readonly<Record<string, string>> = { '{': '}', '<': '>', '[': ']' };

class Reader {
  readonly #tokens: readonly Token[];
  readonly #problems: LineProblem[];
  #at = 0;

  constructor(tokens: readonly Token[], problems: LineProblem[]) {
    this.#tokens = tokens;
    this.#problems = problems;
  }

  /** Fields up to `end`, which is taken, or up to the end of the file. */
  message(into: ReflectMessage, end: string | undefined): void {
    const seen = new Set<string>();
    while (!this.#ends(end)) {
      const { text: name, line } = this.#take('name', `a field of ${into.desc.name}`);
      const field = into.fields.find((candidate) => candidate.name === name);
      if (field === undefined) {
        this.#problem(line, `${name} is no field of ${into.desc.name}`);
        this.#skip(this.#accept(':'));
      } else {
        this.#checkOnce(into, field, seen, line);
        this.#field(into, field);
      }
      if (!this.#accept(',')) this.#accept(';');
    }
  }

  #checkOnce(into: ReflectMessage, field: DescField, seen: Set<string>, line: number): void {
    if (field.fieldKind === 'list' || field.fieldKind === 'map') return;
    if (seen.has(field.name)) this.#problem(line, `${field.name} stands twice in one ${into.desc.name}`);
    seen.add(field.name);
    const other = field.oneof?.fields.find(({ name }) => name !== field.name && seen.has(name));
    if (other !== undefined) {
      this.#problem(line, `${field.name} and ${other.name} exclude each other in ${into.desc.name}`);
    }
  }

  #field(into: ReflectMessage, field: DescField): void {
    const colon = this.#accept(':');
    switch (field.fieldKind) {
      case 'message': {
        into.set(field, this.#nested(field.message, field.name));
        return;
      }
      case 'map':
        this.#each(() => this.#entry(into, field));
        return;
      case 'list': {
        const list = into.get(field);
        this.#each(() => {
          const value =
            field.listKind === 'message' ? this.#nested(field.message, field.name) : this.#scalar(field, colon);
          if (value !== undefined) list.add(value);
        });
        return;
      }
      default: {
        const value = this.#scalar(field, colon);
        if (value !== undefined) into.set(field, value);
      }
    }
  }

  /** One value, or several in brackets. */
  #each(read: () => void): void {
    if (!this.#accept('[')) {
      read();
      return;
    }
    while (!this.#accept(']')) {
      read();
      if (this.#accept(',')) continue;
      if (this.#accept(']')) return;
      throw this.#unexpected('a comma or ]');
    }
  }

  #nested(schema: DescMessage, name: string): ReflectMessage {
    const message = reflect(schema, create(schema) as MessageShape<DescMessage>);
    this.message(message, this.#open(name));
    return message;
  }

  #entry(into: ReflectMessage, field: DescField & { fieldKind: 'map' }): void {
    const { line: start } = this.#peek();
    const end = this.#open(field.name);
    let key: unknown;
    let value: unknown =
      field.mapKind === 'message' ? reflect(field.message, create(field.message) as MessageShape<DescMessage>) : '';
    while (!this.#ends(end)) {
      const { text: name, line } = this.#take('name', 'key or value');
      const colon = this.#accept(':');
      if (name === 'key') key = readScalar({ scalar: field.mapKey }, this.#literal(colon), this.#report('key'));
      else if (name !== 'value') {
        this.#problem(line, `${name} is no field of an entry of ${field.name}, which has key and value`);
        this.#skip(colon);
      } else if (field.mapKind === 'message') value = this.#nested(field.message, field.name);
      else value = this.#scalar(field, colon) ?? value;
      if (!this.#accept(',')) this.#accept(';');
    }
    if (key === undefined) this.#problem(start, `an entry of ${field.name} has no key`);
    else into.get(field).set(key as string, value);
  }

  #scalar(field: DescField, colon: boolean): unknown {
    return readScalar({ scalar: field.scalar, enum: field.enum }, this.#literal(colon), this.#report(field.name));
  }

  /** The tokens of one value: a sign belongs to its number, and strings that follow each other are one. */
  #literal(colon: boolean): readonly Token[] {
    if (!colon) throw this.#unexpected('a colon before a value that is no message');
    const start = this.#at;
    if (this.#accept('-') || this.#peek().kind !== 'string') {
      if (!['name', 'number'].includes(this.#peek().kind)) throw this.#unexpected('a value');
      this.#at++;
    } else {
      while (this.#peek().kind === 'string') this.#at++;
    }
    return this.#tokens.slice(start, this.#at);
  }

  /** Reads over the value of a field that is not known. */
  #skip(colon: boolean): void {
    if (CLOSING[this.#peek().text] === undefined || this.#peek().kind !== 'symbol') {
      this.#literal(colon);
      return;
    }
    const open: string[] = [];
    do {
      const { kind, text } = this.#peek();
      if (kind === 'end') throw this.#unexpected(open.at(-1)!);
      if (kind === 'symbol' && CLOSING[text] !== undefined) open.push(CLOSING[text]!);
      else if (kind === 'symbol' && text === open.at(-1)) open.pop();
      this.#at++;
    } while (open.length > 0);
  }

  #open(name: string): string {
    if (this.#accept('{')) return '}';
    if (this.#accept('<')) return '>';
    throw this.#unexpected(`{, since ${name} is a message`);
  }

  #ends(end: string | undefined): boolean {
    if (end !== undefined) return this.#accept(end);
    return this.#peek().kind === 'end';
  }

  #peek(): Token {
    return this.#tokens[this.#at]!;
  }

  #accept(symbol: string): boolean {
    const found = this.#peek().kind === 'symbol' && this.#peek().text === symbol;
    if (found) this.#at++;
    return found;
  }

  #take(kind: Token['kind'], wanted: string): Token {
    const token = this.#peek();
    if (token.kind !== kind) throw this.#unexpected(wanted);
    this.#at++;
    return token;
  }

  #unexpected(wanted: string): TextFormatError {
    const { kind, text, line } = this.#peek();
    return new TextFormatError(line, `${kind === 'string' ? 'a string' : text} where ${wanted} should be`);
  }

  #problem(line: number, message: string): void {
    this.#problems.push({ line, message });
  }

  #report(name: string): (line: number, message: string) => void {
    return (line, message) => this.#problem(line, `${name}: ${message}`);
  }
}
