/** What is asked of each command and subcommand there is, and of those to come: they are found, not listed. */
import { join } from 'node:path';
import type { Command } from 'commander';
import { describe, expect, it } from 'vitest';
import { exitCodesIn, renderExitCodesDoc } from '../../../scripts/docs/exit-codes-doc.ts';
import { helpOf } from '../../../scripts/docs/help-text.ts';
import { buildProgram, commands, runCommandLine } from '../../../workers/command-line.ts';

const quiet = { write: () => true };
const program = await buildProgram(() => true, { env: {}, version: '1', stdout: quiet, stderr: quiet });

/** They run until they are stopped, or print a script: their reports are the log, /status and files. */
const WITHOUT_JSON = ['worker', 'ops', 'engine', 'reembed start', 'models golden', 'completion'];
// biome-ignore lint/suspicious/noControlCharactersInRegex: the first character of each escape sequence
const ESCAPE = /\x1b/;

function all(command: Command, path: readonly string[] = []): readonly { path: string; command: Command }[] {
  const below = command.commands.flatMap((one) => all(one, [...path, one.name()]));
  return [{ path: path.join(' '), command }, ...below];
}

const everything = all(program);

async function run(args: readonly string[]) {
  let text = '';
  const write = (part: string) => {
    text += part;
  };
  const code = await runCommandLine({ args, env: {}, version: '1', stdout: { write }, stderr: { write } });
  return { code, text };
}

it('all commands are looked at', () => {
  expect(program.commands.map((one) => one.name())).toEqual(commands.map(({ name }) => name));
  expect(everything.length).toBeGreaterThan(30);
});

it('docs/exit-codes.md is what the commands say (make docs writes it)', async () => {
  const page = join(import.meta.dirname, '../../../docs/exit-codes.md');
  await expect(renderExitCodesDoc(program)).toMatchFileSnapshot(page);
});

for (const { path, command } of everything) {
  describe(`rag-serving ${path}`, () => {
    it('says what it is, and what each option and operand is', () => {
      expect(command.description()).not.toBe('');
      for (const { flags, description } of command.options) expect(description, flags).not.toBe('');
      for (const operand of command.registeredArguments) expect(operand.description, operand.name()).not.toBe('');
    });
    it('its help has examples that are its own, and exit codes', () => {
      const help = helpOf(command);
      const [, examples = ''] = /^Examples?:\n((?: {2}.*\n?)+)/m.exec(help) ?? [];
      expect(examples).toContain(`rag-serving ${path}`.trim());
      expect([...exitCodesIn(help).keys()]).toEqual(expect.arrayContaining([0, 1, 2]));
    });
    it('an option that takes a value says which', () => {
      const unnamed = command.options.filter(({ flags, required }) => required && !/<[a-z0-9:.|=,…/-]+>/i.test(flags));
      expect(unnamed.map(({ flags }) => flags)).toEqual([]);
    });
    it('help and an error are plain text', async () => {
      const words = path.split(' ').filter((word) => word !== '');
      const help = await run([...words, '--help']);
      const error = await run([...words, '--no-such-option']);
      expect([help.code, error.code]).toEqual([0, 2]);
      expect(error.text).toMatch(/^error: /m);
      expect(help.text + error.text).not.toMatch(ESCAPE);
    });
    it.runIf(command.commands.length === 0 && !WITHOUT_JSON.includes(path))('answers as JSON', () => {
      expect(command.options.map(({ long }) => long)).toContain('--json');
    });
  });
}
