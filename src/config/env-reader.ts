/**
 * Reads settings out of one environment object and collects EVERY problem, so that a wrong deployment is mended in one
 * round. An empty value means unset. A refused setting reads as its default until `finish` throws, so that the rules
 * after it can still be checked; rules about a refused setting are not reported on top of it.
 */
import { ServingError } from '../errors.ts';
import { type ReadFile, readTextFile, type TlsPart, type TlsPaths, tlsProblems } from './file-types.ts';
import type { PoolType, Setting, Settings, ValuesOf } from './setting.ts';

export type Env = Readonly<Record<string, string | undefined>>;

export type ReaderOptions = {
  readonly pool: PoolType;
  readonly readFile?: ReadFile;
  /** Wall clock, for the expiry of certificates. */
  readonly nowMs?: number;
};

export class EnvReader {
  readonly #env: Env;
  readonly #readFile: ReadFile;
  readonly #nowMs: number;
  readonly #problems: string[] = [];
  readonly #refused = new Set<string>();
  readonly #warnings: string[] = [];
  readonly pool: PoolType;

  constructor(env: Env, options: ReaderOptions) {
    this.#env = env;
    this.pool = options.pool;
    this.#readFile = options.readFile ?? readTextFile;
    this.#nowMs = options.nowMs ?? Date.now();
  }

  read<T>(setting: Setting<T>): T {
    const raw = this.#env[setting.name];
    const value = raw?.trim() ?? '';
    if (value !== '') {
      const parsed = setting.parse(value);
      if (parsed.ok) return parsed.value;
      this.problem(setting, parsed.problem);
    } else if (raw === '' && setting.emptyProblem !== undefined) {
      this.problem(setting, setting.emptyProblem);
    } else if (setting.secret && raw !== undefined && raw !== '') {
      // A secret of blanks is a broken mount or a template gone wrong; reading it as unset would open what it protects.
      this.problem(setting, 'holds only white space; set the secret, or leave it empty for none');
    }
    return setting.fallback.kind === 'value' ? setting.fallback.value : setting.fallback.values[this.pool];
  }

  section<S extends Settings>(settings: S): ValuesOf<S> {
    return Object.fromEntries(
      Object.entries(settings).map(([key, setting]) => [key, this.read(setting)]),
    ) as ValuesOf<S>;
  }

  isSet(setting: Setting<unknown>): boolean {
    return (this.#env[setting.name] ?? '').trim() !== '';
  }

  problem(setting: Setting<unknown>, says: string): void {
    this.#refused.add(setting.name);
    const line = `${setting.name} ${says}`;
    // A setting that two sections read is at fault once.
    if (!this.#problems.includes(line)) this.#problems.push(line);
  }

  /** A rule across settings, about the first of them. Silent when one of them is already refused. */
  rule(holds: boolean, settings: readonly [Setting<unknown>, ...Setting<unknown>[]], says: string): void {
    if (holds || settings.some((setting) => this.#refused.has(setting.name))) return;
    this.#problems.push(`${settings[0].name} ${says}`);
  }

  /** Both or none. */
  pair(one: Setting<unknown>, other: Setting<unknown>, why: string): void {
    this.rule(
      this.isSet(one) || !this.isSet(other),
      [one, other],
      `is unset while ${other.name} is set: ${why}; set both or none`,
    );
    this.rule(
      this.isSet(other) || !this.isSet(one),
      [other, one],
      `is unset while ${one.name} is set: ${why}; set both or none`,
    );
  }

  tlsFiles(paths: TlsPaths, settings: Readonly<Record<TlsPart, Setting<string | undefined>>>): void {
    for (const { part, says } of tlsProblems(paths, this.#nowMs, this.#readFile)) this.problem(settings[part], says);
  }

  warn(message: string): void {
    this.#warnings.push(message);
  }

  get variableNames(): readonly string[] {
    return Object.keys(this.#env).filter((name) => this.#env[name] !== undefined);
  }

  get warnings(): readonly string[] {
    return Object.freeze([...this.#warnings]);
  }

  /** Throws one CONFIG_INVALID that lists everything; `details.problems` has it as a list. */
  finish(): void {
    if (this.#problems.length === 0) return;
    const count = this.#problems.length === 1 ? '1 setting is wrong' : `${this.#problems.length} settings are wrong`;
    throw new ServingError('CONFIG_INVALID', `${count}:\n${this.#problems.map((line) => `- ${line}`).join('\n')}`, {
      details: { problems: [...this.#problems] },
    });
  }
}
