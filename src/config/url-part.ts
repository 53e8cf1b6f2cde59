/** User, password and path of an address, as they were before they were put into it. */

/** Null for what is no percent-encoding; undefined for nothing. */
export function decoded(part: string): string | undefined | null {
  if (part === '') return undefined;
  try {
    return decodeURIComponent(part);
  } catch {
    return null;
  }
}
