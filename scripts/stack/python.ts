/**
 * A virtual environment in the cache, filled from a committed requirements file in which every wheel is pinned by its sum.
 *
 * pip runs with `--require-hashes --no-deps --only-binary :all:`: what is not in the file is not installed, and nothing is compiled.
 */
import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ServingError } from '../../src/errors.ts';
import { provision, type Report } from './cache.ts';
import { runCommand } from './command.ts';
import { committedPath } from './package-root.ts';

const PIP_TIMEOUT_MS = 10 * 60_000;

export type PythonNeed = {
  /** Part's name, for the cache folder and for progress. */
  readonly name: string;
  /** Committed requirements file, from the repository's root. */
  readonly requirements: string;
  /** Minor versions of Python 3 that the pinned wheels are for, best first. */
  readonly minors: readonly number[];
  /** Whether the interpreter must come with a shared libpython. */
  readonly sharedLibrary: boolean;
  /** Further work before the folder counts as whole; `packages` is the environment's site-packages. The folder is renamed afterwards. */
  readonly finish?: (folder: string, packages: string, base: PythonFacts) => Promise<void>;
};

export type PythonFacts = { readonly executable: string; readonly minor: number; readonly libraryFolder: string };

/** The environment's folder, made when missing. Throws DEPENDENCY_MISSING saying what to install. */
export async function provisionPython(need: PythonNeed, report: Report): Promise<string> {
  const base = await findPython(need);
  const file = committedPath(need.requirements);
  const pins = createHash('sha256')
    .update(await readFile(file))
    .update(base.executable)
    .digest('hex')
    .slice(0, 12);
  return await provision(
    `${need.name}-py3.${base.minor}-${pins}`,
    async (folder) => {
      const install = `"apt-get install python3-venv" brings what ${base.executable} lacks`;
      report(`${need.name}: making an environment of Python 3.${base.minor}`);
      await runCommand(base.executable, ['-m', 'venv', join(folder, 'venv')], { install, timeoutMs: 120_000 });
      const python = venvPython(folder);
      const flags = [
        '--require-hashes',
        '--no-deps',
        '--only-binary',
        ':all:',
        '--disable-pip-version-check',
        '--no-input',
      ];
      await runCommand(python, ['-m', 'pip', 'install', ...flags, '--progress-bar', 'off', '-r', file], {
        install,
        timeoutMs: PIP_TIMEOUT_MS,
        onLine: (line) => {
          if (/^\s*(Downloading|Installing)/.test(line)) report(`${need.name}: ${line.trim()}`);
        },
      });
      await need.finish?.(folder, sitePackages(folder, base.minor), base);
    },
    report,
  );
}

export function venvPython(folder: string): string {
  return join(folder, 'venv', 'bin', 'python');
}

export function sitePackages(folder: string, minor: number): string {
  return join(folder, 'venv', 'lib', `python3.${minor}`, 'site-packages');
}

const FACTS = `
import os, sys, sysconfig as s
name = s.get_config_var("INSTSONAME") or ""
places = [s.get_config_var("LIBDIR") or "", os.path.join(s.get_config_var("LIBDIR") or "", s.get_config_var("MULTIARCH") or "")]
found = [p for p in places if ".so" in name and os.path.exists(os.path.join(p, name))]
print(sys.executable, sys.version_info[1], found[0] if found else "", sep="\\n")
`;

export async function pythonFacts(python: string): Promise<PythonFacts> {
  const said = await runCommand(python, ['-I', '-c', FACTS], { install: 'install Python 3', timeoutMs: 30_000 });
  const [executable = '', minor = '', libraryFolder = ''] = said.split('\n');
  return { executable, minor: Number(minor), libraryFolder };
}

/** The first interpreter on the PATH that fits; `RAG_SERVING_PYTHON` names one that is tried before. */
async function findPython(need: PythonNeed): Promise<PythonFacts> {
  const own = process.env.RAG_SERVING_PYTHON;
  const names = [...(own ? [own] : []), 'python3', ...need.minors.map((minor) => `python3.${minor}`)];
  for (const name of names) {
    const facts = await pythonFacts(name).catch(() => undefined);
    if (facts === undefined || !need.minors.includes(facts.minor)) continue;
    if (need.sharedLibrary && facts.libraryFolder === '') continue;
    return facts;
  }
  const versions = need.minors.map((minor) => `3.${minor}`).join(', ');
  const shared = need.sharedLibrary
    ? ' with its shared libpython ("apt-get install python3 python3-venv libpython3-dev")'
    : '';
  throw new ServingError(
    'DEPENDENCY_MISSING',
    `${need.name} needs Python ${versions}${shared}; RAG_SERVING_PYTHON may name one`,
  );
}
