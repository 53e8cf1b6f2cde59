/** Help and errors of the built program, as a script reads them: through a pipe there is no escape sequence. */
import { execFile } from 'node:child_process';
import { expect, it } from 'vitest';
import { committedPath } from '../../scripts/stack/package-root.ts';
import { buildProgram } from '../../workers/command-line.ts';

const quiet = { write: () => true };
const program = await buildProgram(() => true, { env: {}, version: '1', stdout: quiet, stderr: quiet });

function piped(args: readonly string[], env: Record<string, string>): Promise<{ code: unknown; text: string }> {
  const { PATH = '', HOME = '' } = process.env;
  const words = [committedPath('dist/workers/main.js'), ...args];
  return new Promise((resolve) => {
    execFile(process.execPath, words, { env: { PATH, HOME, TERM: 'xterm-256color', ...env } }, (error, out, err) =>
      resolve({ code: error === null ? 0 : error.code, text: out + err }),
    );
  });
}

const every = program.commands.flatMap((one) => [
  [one.name()],
  ...one.commands.map((below) => [one.name(), below.name()]),
]);

for (const words of [[], ...every]) {
  it(`rag-serving ${words.join(' ')}`, async () => {
    const help = await piped([...words, '--help'], {});
    const error = await piped([...words, '--no-such-option'], { NO_COLOR: '1' });
    expect([help.code, error.code]).toEqual([0, 2]);
    expect(help.text).toContain('Exit codes');
    expect(error.text).toMatch(/^error: /m);
    expect(help.text + error.text).not.toContain('\x1b');
  });
}

it('each wrong setting is told at once, in plain text', async () => {
  const { code, text } = await piped(['worker'], { RAG_SERVING_LOG_LEVEL: 'loud', KAFKA_TLS_ENABLED: 'tru' });
  expect(code).toBe(2);
  for (const name of ['RAG_SERVING_LOG_LEVEL', 'KAFKA_TLS_ENABLED']) expect(text).toContain(`- ${name} `);
  expect(text).not.toContain('\x1b');
});
