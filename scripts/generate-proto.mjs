/**
 * Generates src/kserve/gen from proto/. `--check` changes nothing: it fails when the committed files differ.
 *
 * Offline: buf and protoc-gen-es are npm packages of pinned versions. Plain JavaScript, so that it runs before anything
 * is built. The generator writes TypeScript enums, which `erasableSyntaxOnly` forbids; each becomes a constant object
 * and the union of its values, which read the same at every use.
 */
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const target = join(root, 'src', 'kserve', 'gen');

function withoutEnums(source) {
  const erasable = source.replace(/^export enum (\w+) \{\n([\s\S]*?)^\}$/gm, (_, name, body) => {
    const members = body.replace(/^( +\w+) = (-?\d+),$/gm, '$1: $2,');
    return `export const ${name} = {\n${members}} as const;\nexport type ${name} = (typeof ${name})[keyof typeof ${name}];`;
  });
  if (/^(export )?(const )?enum /m.test(erasable))
    throw new Error('an enum was left: the generator writes another form');
  return erasable;
}

function generate() {
  const folder = mkdtempSync(join(tmpdir(), 'rag-proto-'));
  try {
    const buf = join(root, 'node_modules', '.bin', 'buf');
    execFileSync(buf, ['generate', '--template', join('proto', 'buf.gen.yaml'), '-o', folder], {
      cwd: root,
      stdio: ['ignore', 'inherit', 'inherit'],
    });
    return new Map(
      readdirSync(folder)
        .sort()
        .map((name) => [name, withoutEnums(readFileSync(join(folder, name), 'utf8'))]),
    );
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function committed() {
  try {
    return new Map(readdirSync(target).map((name) => [name, readFileSync(join(target, name), 'utf8')]));
  } catch (error) {
    if (error.code === 'ENOENT') return new Map();
    throw error;
  }
}

const fresh = generate();
const before = committed();
const differing = [...new Set([...fresh.keys(), ...before.keys()])].filter(
  (name) => fresh.get(name) !== before.get(name),
);

if (process.argv.includes('--check')) {
  if (differing.length > 0) {
    process.stderr.write(`src/kserve/gen is not what proto/ gives: ${differing.join(', ')}. Run: npm run generate\n`);
    process.exit(1);
  }
  process.stdout.write(`src/kserve/gen is up to date (${fresh.size} files)\n`);
} else {
  mkdirSync(target, { recursive: true });
  for (const name of before.keys()) if (!fresh.has(name)) rmSync(join(target, name));
  for (const [name, text] of fresh) if (before.get(name) !== text) writeFileSync(join(target, name), text);
  process.stdout.write(`src/kserve/gen: ${fresh.size} files, ${differing.length} changed\n`);
}
