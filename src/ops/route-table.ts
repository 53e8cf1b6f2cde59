/** The paths that there are, to tell "no such path" from "not with this method". Pure. */
export class RouteTable {
  readonly #exact = new Set<string>();
  readonly #prefixes: string[] = [];

  /** As routes are declared; `*` at the end stands for anything. */
  add(_method: string | readonly string[], url: string): void {
    if (url.endsWith('*')) this.#prefixes.push(url.slice(0, -1));
    else this.#exact.add(withoutSlash(url));
  }

  knows(path: string): boolean {
    return this.#exact.has(withoutSlash(path)) || this.#prefixes.some((prefix) => path.startsWith(prefix));
  }
}

function withoutSlash(path: string): string {
  return path.length > 1 && path.endsWith('/') ? path.slice(0, -1) : path;
}
