/** The project's TypeScript files and what each imports, read with a real parser. For the architecture test. */
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { dirname, join, posix, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseSync } from 'oxc-parser';

export const projectRoot = join(dirname(fileURLToPath(import.meta.url)), '..', '..');

export type SourceFile = {
  /** Path from the project root, with forward slashes. */
  readonly path: string;
  readonly text: string;
  readonly lines: number;
  /** Project files as paths from the root, packages and node: modules by name. */
  readonly imports: readonly Import[];
};

export type Import = { readonly target: string; readonly typeOnly: boolean };

const ROOTS = ['src', 'page', 'online', 'workers', 'scripts', 'test'];

export function readSourceFiles(): SourceFile[] {
  return ROOTS.flatMap((folder) => typescriptFiles(join(projectRoot, folder))).map(readSourceFile);
}

function typescriptFiles(folder: string): string[] {
  return readdirSync(folder).flatMap((name) => {
    const path = join(folder, name);
    if (statSync(path).isDirectory()) return typescriptFiles(path);
    return path.endsWith('.ts') ? [path] : [];
  });
}

function readSourceFile(file: string): SourceFile {
  const path = relative(projectRoot, file).replaceAll('\\', '/');
  const text = readFileSync(file, 'utf8');
  return { path, text, lines: text.split('\n').length - 1, imports: importsOf(path, text) };
}

/** Exported for the test that plants violations. */
export function importsOf(path: string, text: string): Import[] {
  const { module, errors } = parseSync(path, text);
  if (errors.length > 0) throw new Error(`${path} does not parse: ${errors[0]?.message}`);
  const statics = module.staticImports.map(({ moduleRequest, entries }) => ({
    specifier: moduleRequest.value,
    typeOnly: entries.length > 0 && entries.every(({ isType }) => isType),
  }));
  const reExports = module.staticExports.flatMap(({ entries }) =>
    entries.flatMap(({ moduleRequest, isType }) =>
      moduleRequest === null ? [] : [{ specifier: moduleRequest.value, typeOnly: isType }],
    ),
  );
  const dynamics = module.dynamicImports.flatMap(({ moduleRequest }) => {
    const literal = /^(['"])(.*)\1$/.exec(text.slice(moduleRequest.start, moduleRequest.end));
    return literal?.[2] === undefined ? [] : [{ specifier: literal[2], typeOnly: false }];
  });
  return [...statics, ...reExports, ...dynamics].map(({ specifier, typeOnly }) => ({
    target: specifier.startsWith('.') ? posix.join(posix.dirname(path), specifier) : specifier,
    typeOnly,
  }));
}
