/**
 * The API key while the tab is open. Each server behind one host has its own, by the path under which it is seen. Where the
 * browser's storage is switched off, the key lives as long as the page.
 */
export class KeyStore {
  readonly #name: string;
  #key: string | undefined;

  constructor(path: string) {
    this.#name = `rag-serving-key ${path}`;
    this.#key = this.#stored();
  }

  get(): string | undefined {
    return this.#key;
  }

  set(key: string): void {
    this.#key = key;
    this.#try(() => sessionStorage.setItem(this.#name, key));
  }

  forget(): void {
    this.#key = undefined;
    this.#try(() => sessionStorage.removeItem(this.#name));
  }

  #stored(): string | undefined {
    return this.#try(() => sessionStorage.getItem(this.#name)) ?? undefined;
  }

  /** Storage that is switched off throws. */
  #try<T>(use: () => T): T | undefined {
    try {
      return use();
    } catch {
      return undefined;
    }
  }
}
