/** The API key while the tab is open. Each server behind one host has its own, by the path under which it is seen. */
export class KeyStore {
  readonly #name: string;

  constructor(path: string) {
    this.#name = `rag-serving-key ${path}`;
  }

  /** Storage may be switched off in the browser; then the key lives as long as the page. */
  get(): string | undefined {
    try {
      return sessionStorage.getItem(this.#name) ?? undefined;
    } catch {
      return undefined;
    }
  }

  set(key: string): void {
    try {
      sessionStorage.setItem(this.#name, key);
    } catch {
      return;
    }
  }

  forget(): void {
    try {
      sessionStorage.removeItem(this.#name);
    } catch {
      return;
    }
  }
}
