/** A text as one word of a shell, taken literally: nothing in a name or a description is run or expanded. */
export function quotedForSh(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

export function quotedForFish(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;
}
