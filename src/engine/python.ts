/** Runs python3 for the model fetch: bounded in time, and a failure says what to install or check. */
import { type ExecFileException, execFile } from 'node:child_process';
import { ServingError } from '../errors.ts';

export type PythonRun = {
  readonly python: string;
  readonly args: readonly string[];
  readonly timeoutMs: number;
  /** What the run is for, as in "cannot …". */
  readonly purpose: string;
};

const ELSE = 'or give a folder that holds model.onnx and tokenizer.json with --model-dir';

export function runPython(run: PythonRun, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    execFile(
      run.python,
      [...run.args],
      { timeout: run.timeoutMs, killSignal: 'SIGKILL', maxBuffer: 16 * 2 ** 20, ...(signal && { signal }) },
      (error, _stdout, stderr) => {
        if (error === null) resolve();
        else reject(pythonFailure(run, error, stderr));
      },
    );
  });
}

function pythonFailure(run: PythonRun, error: ExecFileException, stderr: string) {
  const options = { cause: error };
  const cannot = `cannot ${run.purpose}`;
  if (error.code === 'ENOENT') {
    return new ServingError(
      'DEPENDENCY_MISSING',
      `${cannot}: ${run.python} is not installed; install it, ${ELSE}`,
      options,
    );
  }
  if (error.name === 'AbortError') return new ServingError('DEPENDENCY_MISSING', `${cannot}: stopped`, options);
  if (error.killed === true) {
    const seconds = run.timeoutMs / 1000;
    return new ServingError('DEPENDENCY_MISSING', `${cannot} within ${seconds} s; check the network, ${ELSE}`, options);
  }
  if (/No module named pip/.test(stderr)) {
    const remedy = `install pip for ${run.python} (Debian: apt install python3-pip)`;
    return new ServingError('DEPENDENCY_MISSING', `${cannot}: ${run.python} has no pip; ${remedy}, ${ELSE}`, options);
  }
  return new ServingError(
    'DEPENDENCY_MISSING',
    `${cannot}: ${run.python} ended with code ${String(error.code)} (${lastLine(stderr)}); check the network and pip's index, ${ELSE}`,
    options,
  );
}

/** pip's last line says what failed; credentials of an index URL are cut out of it. */
function lastLine(stderr: string): string {
  const line = stderr.trim().split('\n').at(-1) ?? '';
  return line.replace(/\/\/[^/@\s]*@/g, '//').slice(0, 300) || 'no message';
}
