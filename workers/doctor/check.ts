/** What a check of the installation is and how it may end. A `fail` and a `warn` always carry what to do. */
export type Outcome =
  | { readonly kind: 'ok'; readonly found: string }
  | { readonly kind: 'warn' | 'fail'; readonly found: string; readonly remedy: string }
  | { readonly kind: 'skipped'; readonly why: string };

/** In the order in which they are shown. */
export const groups = ['settings', 'machine', 'kafka', 'engine', 'shared-memory', 'store', 'retries'] as const;
export type Group = (typeof groups)[number];

export type Check = {
  readonly name: string;
  readonly group: Group;
  /** Names of checks that stand before it in the list; it is skipped when one of them failed or was skipped. */
  readonly after: readonly string[];
  look(signal: AbortSignal): Promise<Outcome>;
};

export const ok = (found: string): Outcome => ({ kind: 'ok', found });
export const warn = (found: string, remedy: string): Outcome => ({ kind: 'warn', found, remedy });
export const fail = (found: string, remedy: string): Outcome => ({ kind: 'fail', found, remedy });
export const skipped = (why: string): Outcome => ({ kind: 'skipped', why });
