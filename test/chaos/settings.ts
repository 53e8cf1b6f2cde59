/** What a chaos run can be told, by environment variables; `CHAOS_SEED` and the rest repeat a run that failed. */

export type EngineKind = 'embedded' | 'triton';

/** Where the workers store. */
export const storeKinds = ['redis', 'pgvector', 'kafka-topic', 'lancedb'] as const;
export type StoreKind = (typeof storeKinds)[number];

export type ChaosSettings = {
  readonly seed: number;
  readonly rounds: number;
  /** Everything is compared after so many rounds; within them, faults overlap when there are more than one. */
  readonly checkEvery: number;
  readonly engine: EngineKind;
  readonly sink: StoreKind;
};

const SHORT_ROUNDS = 40;
const SHORT_CHECK_EVERY = 10;

export function readSettings(env: Readonly<Record<string, string | undefined>>): ChaosSettings {
  const engine = env.CHAOS_ENGINE || 'embedded';
  if (engine !== 'embedded' && engine !== 'triton') throw new Error('CHAOS_ENGINE is neither embedded nor triton');
  const asked = env.CHAOS_SINK || 'redis';
  const sink = storeKinds.find((kind) => kind === asked);
  if (sink === undefined) throw new Error(`CHAOS_SINK is none of ${storeKinds.join(', ')}`);
  return {
    seed: wholeNumber(env, 'CHAOS_SEED', 0) ?? Math.floor(Math.random() * 2 ** 31),
    rounds: wholeNumber(env, 'CHAOS_ROUNDS', 1) ?? SHORT_ROUNDS,
    checkEvery: wholeNumber(env, 'CHAOS_CHECK_EVERY', 1) ?? SHORT_CHECK_EVERY,
    engine,
    sink,
  };
}

/** The command that does the same again. */
export function repeatCommand({ seed, rounds, checkEvery, engine, sink }: ChaosSettings): string {
  return `make chaos CHAOS_SEED=${seed} CHAOS_ROUNDS=${rounds} CHAOS_CHECK_EVERY=${checkEvery} CHAOS_ENGINE=${engine} CHAOS_SINK=${sink}`;
}

function wholeNumber(
  env: Readonly<Record<string, string | undefined>>,
  name: string,
  least: number,
): number | undefined {
  const text = env[name] ?? '';
  if (text === '') return undefined;
  const value = Number(text);
  if (!Number.isSafeInteger(value) || value < least) throw new Error(`${name} is no whole number from ${least}`);
  return value;
}
