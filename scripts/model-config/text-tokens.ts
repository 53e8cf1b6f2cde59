/** The tokens of protobuf's text format, each with its line. */

export type Token = {
  readonly kind: 'name' | 'number' | 'string' | 'symbol' | 'end';
  /** As written; of a string, what it stands for. */
  readonly text: string;
  readonly line: number;
};

/** What cannot be read on from: the text after it could mean anything. */
export class TextFormatError extends Error {
  override readonly name = 'TextFormatError';
  readonly line: number;

  constructor(line: number, message: string) {
    super(message);
    this.line = line;
  }
}

const TOKEN =
  /(?<blank>[ \t\r\n]+|#[^\n]*)|(?<name>[A-Za-z_][\w.]*)|(?<number>(?:0[xX][\da-fA-F]+|\d+\.?\d*(?:[eE][+-]?\d+)?|\.\d+(?:[eE][+-]?\d+)?)[fF]?)|(?<string>"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')|(?<symbol>[{}[\]<>:,;-])/y;

/** Throws TextFormatError. */
export function tokensOf(text: string): Token[] {
  const tokens: Token[] = [];
  let line = 1;
  TOKEN.lastIndex = 0;
  while (TOKEN.lastIndex < text.length) {
    const start = TOKEN.lastIndex;
    const groups = TOKEN.exec(text)?.groups;
    if (groups === undefined) throw new TextFormatError(line, `${describe(text[start]!)} has no meaning here`);
    const { blank, name, number, string, symbol } = groups;
    if (name !== undefined) tokens.push({ kind: 'name', text: name, line });
    else if (number !== undefined) tokens.push({ kind: 'number', text: number, line });
    else if (string !== undefined) tokens.push({ kind: 'string', text: unquoted(string.slice(1, -1)), line });
    else if (symbol !== undefined) tokens.push({ kind: 'symbol', text: symbol, line });
    else line += blank!.split('\n').length - 1;
  }
  tokens.push({ kind: 'end', text: 'the end of the file', line });
  return tokens;
}

function describe(character: string): string {
  return character === '"' || character === "'" ? 'a string that is not closed' : `the character ${character}`;
}

const ESCAPES: Readonly<Record<string, string>> = { n: '\n', r: '\r', t: '\t', a: '\x07', b: '\b', f: '\f', v: '\v' };

function unquoted(body: string): string {
  return body.replace(
    /\\(?:([0-7]{1,3})|x([\da-fA-F]{1,2})|u([\da-fA-F]{4})|U([\da-fA-F]{8})|(.))/g,
    (_, octal?: string, hex?: string, short?: string, long?: string, other?: string) => {
      if (octal !== undefined) return String.fromCharCode(Number.parseInt(octal, 8));
      const code = hex ?? short ?? long;
      if (code !== undefined) return String.fromCodePoint(Number.parseInt(code, 16));
      return ESCAPES[other!] ?? other!;
    },
  );
}
