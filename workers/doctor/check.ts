/** What a check of the installation is and how it may end. A `fail` and a `warn` always carry what to do. */
export type Outcome =
  | { readonly kind: 'ok'; readonly found: string }
  | { readonly kind: 'warn' | 'fail'; readonly found: string; readonly remedy: string }
  | { readonly kind: 'skipped'; readonly why: string };

export type Check = {
  readonly name: string;
  readonly group: string;
  /** Names of checks that stand before it in the list; it is skipped when one of them failed or was skipped. */
  readonly after: readonly string[];
  look(signal: AbortSignal): Promise<Outcome>;
};
