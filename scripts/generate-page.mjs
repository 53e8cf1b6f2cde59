/**
 * Bundles page/ into src/ops/gen/live-page.ts, which holds the live page's script, style and markup as text: so the page is
 * compiled into dist/ like everything else, and the server reads no file. `--check` changes nothing: it fails when the
 * committed file differs.
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'vite';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const target = join(root, 'src', 'ops', 'gen', 'live-page.ts');

async function bundle() {
  const [{ output }] = await build({
    root: join(root, 'page'),
    configFile: false,
    envDir: false,
    logLevel: 'warn',
    publicDir: false,
    build: {
      write: false,
      target: 'es2023',
      lib: { entry: join(root, 'page', 'main.ts'), formats: ['es'], fileName: 'page' },
      rolldownOptions: { output: { minify: true } },
    },
  });
  const [chunk, ...more] = output;
  if (more.length > 0) throw new Error('the page must be one script');
  // Where these stand in the text of a script, its element ends or changes its meaning.
  if (/<\/script|<!--/i.test(chunk.code)) throw new Error('the script holds what HTML would read as its end');
  return chunk.code.trim();
}

/** Comments and indentation say nothing to a browser. */
function compact(text) {
  return text.replace(/\n\s*/g, '\n').trim();
}

const read = (name) => readFileSync(join(root, 'page', name), 'utf8');
const parts = {
  pageScript: await bundle(),
  pageStyle: compact(read('style.css').replace(/\/\*[\s\S]*?\*\//g, '')),
  pageMarkup: compact(read('markup.html')),
};
const lines = Object.entries(parts).map(([name, text]) => `export const ${name}: string = ${JSON.stringify(text)};\n`);
const fresh = `// Written by scripts/generate-page.mjs from page/. Do not edit.\n${lines.join('')}`;

function committed() {
  try {
    return readFileSync(target, 'utf8');
  } catch (error) {
    if (error.code === 'ENOENT') return '';
    throw error;
  }
}

if (process.argv.includes('--check')) {
  if (committed() !== fresh) {
    process.stderr.write('src/ops/gen/live-page.ts is not what page/ gives. Run: npm run generate\n');
    process.exit(1);
  }
  process.stdout.write(`src/ops/gen/live-page.ts is up to date (${fresh.length} characters)\n`);
} else {
  mkdirSync(dirname(target), { recursive: true });
  if (committed() !== fresh) writeFileSync(target, fresh);
  process.stdout.write(`src/ops/gen/live-page.ts: ${fresh.length} characters\n`);
}
