/**
 * Settings of native libraries that can be told in the environment of the process only.
 *
 * Node hands what is written to `process.env` on to C's `setenv`, where native code of this process finds it.
 */

/** What the operator has set stays. */
export function defaultForNative(name: string, value: string): void {
  process.env[name] ??= value;
}
