/** The plain kinds of setting: text, number, yes or no, one of a list, secret. Addresses and files have their own files. */
import { Secret } from './secret.ts';
import { always, type Doc, defineSetting, type Fallback, ok, refuse, type Setting, shapeOf } from './setting.ts';

export type Pattern = { readonly test: RegExp; readonly says: string };

export function text<T extends string | undefined>(
  name: string,
  fallback: Fallback<T>,
  about: Doc,
  pattern: Pattern = { test: /^[^\0]*$/, says: 'text' },
): Setting<string | T> {
  return defineSetting<string | T>(name, pattern.says, fallback, about, (value) =>
    pattern.test.test(value)
      ? ok(value)
      : refuse(`got ${shapeOf(value)} that are not ${pattern.says}; set ${pattern.says}`),
  );
}

export type Range = { readonly min: number; readonly max: number };

/** Plain decimal digits only: `1e6` (what a template engine makes of 1000000) is refused, not read as 1. */
export function integer<T extends number | undefined>(
  name: string,
  fallback: Fallback<T>,
  { min, max }: Range,
  about: Doc,
): Setting<number | T> {
  const accepts = `integer ${min}–${max}`;
  return defineSetting<number | T>(name, accepts, fallback, about, (value) => {
    const remedy = `set an integer from ${min} to ${max} in plain digits`;
    if (!/^[+-]?\d{1,16}$/.test(value)) return refuse(`got ${shapeOf(value)} that are not plain digits; ${remedy}`);
    const number = Number(value);
    return number >= min && number <= max ? ok(number) : refuse(`got the integer ${number}; ${remedy}`);
  });
}

/** A number above 0 and at most 1. */
export function ratio(name: string, fallback: number, about: Doc): Setting<number> {
  return defineSetting(name, 'number above 0, at most 1', always(fallback), about, (value) => {
    const remedy = 'set a number above 0 and at most 1, such as 0.85';
    if (!/^\d{0,9}\.?\d{1,9}$/.test(value))
      return refuse(`got ${shapeOf(value)} that are not a plain number; ${remedy}`);
    const number = Number(value);
    return number > 0 && number <= 1 ? ok(number) : refuse(`got the number ${number}; ${remedy}`);
  });
}

const WORDS: Readonly<Record<string, boolean>> = {
  true: true,
  '1': true,
  yes: true,
  on: true,
  false: false,
  '0': false,
  no: false,
  off: false,
};

/** Anything but the eight words is an error: a mistyped `flase` must not switch a feature on. */
export function boolean(name: string, fallback: boolean, about: Doc): Setting<boolean> {
  return defineSetting(name, 'true or false (also 1/0, yes/no, on/off)', always(fallback), about, (value) => {
    const word = value.toLowerCase();
    return Object.hasOwn(WORDS, word)
      ? ok(WORDS[word] as boolean)
      : refuse(`got ${shapeOf(value)} that are no boolean; set true or false (1/0, yes/no, on/off also work)`);
  });
}

/** One of a list, whatever the case; the result is spelled as in the list. */
export function choice<const T extends string, F extends NoInfer<T> | undefined>(
  name: string,
  choices: readonly T[],
  fallback: Fallback<F>,
  about: Doc,
): Setting<T | F> {
  return defineSetting<T | F>(name, choices.join(' | '), fallback, about, (value) => {
    const found = choices.find((one) => one.toLowerCase() === value.toLowerCase());
    return found === undefined
      ? refuse(`got ${shapeOf(value)} that are none of the choices; set one of ${choices.join(', ')}`)
      : ok(found);
  });
}

/** Some of a list, comma-separated, each once; spelled as in the list, in the order of the value. */
export function choices<const T extends string>(
  name: string,
  all: readonly T[],
  fallback: readonly NoInfer<T>[],
  about: Doc,
): Setting<readonly T[]> {
  return defineSetting<readonly T[]>(name, `comma list of ${all.join(' | ')}`, always(fallback), about, (value) => {
    const remedy = `set one or more of ${all.join(', ')}, separated by commas`;
    const chosen: T[] = [];
    for (const [index, entry] of value.split(',').entries()) {
      const found = all.find((one) => one.toLowerCase() === entry.trim().toLowerCase());
      if (found === undefined) return refuse(`has an entry ${index + 1} that is none of the choices; ${remedy}`);
      if (chosen.includes(found)) return refuse(`names ${found} twice; ${remedy}`);
      chosen.push(found);
    }
    return ok(Object.freeze(chosen));
  });
}

export function secret(name: string, about: Doc, pattern?: Pattern): Setting<Secret | undefined> {
  return defineSetting<Secret | undefined>(
    name,
    pattern?.says ?? 'secret',
    always(undefined),
    about,
    (value) =>
      pattern === undefined || pattern.test.test(value)
        ? ok(new Secret(value))
        : refuse(`holds something that is not ${pattern.says}; set ${pattern.says}`),
    true,
  );
}

/** Visible ASCII without spaces: what fits into an HTTP header as it is. */
export const headerSafe: Pattern = { test: /^[\x21-\x7e]+$/, says: 'visible ASCII characters without spaces' };
