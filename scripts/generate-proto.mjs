/**
 * Generates TypeScript from proto/: ONNX for the scripts, which alone read model files, the rest for src. `--check` changes
 * nothing: it fails when the committed files differ.
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
const PROTOCOL = join('src', 'kserve', 'gen');
const ONNX = join('scripts', 'onnx', 'gen');

/** Where a generated file belongs, from the repository's root. */
const placeOf = (name) => join(name === 'onnx_pb.ts' ? ONNX : PROTOCOL, name);

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
        .map((name) => [placeOf(name), withoutEnums(readFileSync(join(folder, name), 'utf8'))]),
    );
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function committed() {
  const files = [PROTOCOL, ONNX].flatMap((folder) => namesIn(folder).map((name) => join(folder, name)));
  return new Map(files.map((file) => [file, readFileSync(join(root, file), 'utf8')]));
}

function namesIn(folder) {
  try {
    return readdirSync(join(root, folder));
  } catch (error) {
    if (error.code === 'ENOENT') return [];
    throw error;
  }
}

const fresh = generate();
const before = committed();
const differing = [...new Set([...fresh.keys(), ...before.keys()])].filter(
  (file) => fresh.get(file) !== before.get(file),
);

if (process.argv.includes('--check')) {
  if (differing.length > 0) {
    process.stderr.write(`not what proto/ gives: ${differing.join(', ')}. Run: npm run generate\n`);
    process.exit(1);
  }
  process.stdout.write(`generated code is up to date (${fresh.size} files)\n`);
} else {
  for (const file of before.keys()) if (!fresh.has(file)) rmSync(join(root, file));
  for (const [file, text] of fresh) {
    if (before.get(file) === text) continue;
    mkdirSync(dirname(join(root, file)), { recursive: true });
    writeFileSync(join(root, file), text);
  }
  process.stdout.write(`generated code: ${fresh.size} files, ${differing.length} changed\n`);
}
