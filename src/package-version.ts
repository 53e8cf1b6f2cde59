/** The version of this package, as its package.json says: one folder up from the sources, two from dist. */
import { readFileSync } from 'node:fs';

export function packageVersion(): string {
  for (const path of ['../package.json', '../../package.json']) {
    try {
      const { name, version } = JSON.parse(readFileSync(new URL(path, import.meta.url), 'utf8'));
      if (name === 'rag-inference-serving') return String(version);
    } catch {
      // Not here: one folder further up.
    }
  }
  return 'unknown';
}
