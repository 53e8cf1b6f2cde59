/** Globs for shells that leave them alone: `*` and `?` within a folder, `**` across folders, `{a,b}`. Node 20 has none. */
export function isGlob(path: string): boolean {
  return /[*?{]/.test(path);
}

/** The folder before the first wildcard. */
export function globRoot(path: string): string {
  const fixed = path.slice(0, path.search(/[*?{]/));
  const slash = fixed.lastIndexOf('/');
  return slash === -1 ? '.' : slash === 0 ? '/' : fixed.slice(0, slash);
}

export function globPattern(path: string): RegExp {
  let source = '';
  let braces = 0;
  for (let at = 0; at < path.length; at++) {
    const char = path[at] as string;
    if (path.startsWith('**/', at)) {
      source += '(?:[^/]+/)*';
      at += 2;
    } else if (path.startsWith('**', at)) {
      source += '.*';
      at += 1;
    } else if (char === '*') source += '[^/]*';
    else if (char === '?') source += '[^/]';
    else if (char === '{') {
      source += '(?:';
      braces++;
    } else if (char === '}' && braces > 0) {
      source += ')';
      braces--;
    } else if (char === ',' && braces > 0) source += '|';
    else source += char.replace(/[\\^$.*+?()[\]{}|/]/, '\\$&');
  }
  return new RegExp(`^${source}${')'.repeat(braces)}$`);
}
