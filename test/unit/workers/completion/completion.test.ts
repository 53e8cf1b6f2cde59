/** The completion of this version, loaded into real shells. A shell that this machine has not is skipped, and said so. */
import { mkdirSync, mkdtempSync, readdirSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Command, Option } from 'commander';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { buildProgram } from '../../../../workers/command-line.ts';
import { bashCompletion } from '../../../../workers/completion/bash.ts';
import { fishCompletion } from '../../../../workers/completion/fish.ts';
import { type Place, placesOf } from '../../../../workers/completion/places.ts';
import { zshCompletion } from '../../../../workers/completion/zsh.ts';
import { planSinks } from '../../../../workers/plan/workload.ts';
import { askBash, askFish, hasShell, typeIntoZsh } from './shells.ts';

const zsh = hasShell('zsh');
const fish = hasShell('fish');
const NASTY = `it's "quoted" [a:b] \\ \`touch ran\` $(touch ran) %s {x,y} ~`;

let folder: string;
let places: readonly Place[];
const at = (path: string) => places.find((place) => place.path === path);

beforeAll(async () => {
  const quiet = { write: () => true };
  places = placesOf(await buildProgram(() => true, { env: {}, version: '1', stdout: quiet, stderr: quiet }));
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'rag-completion-')));
  mkdirSync(join(folder, 'models here'));
  writeFileSync(join(folder, 'chunks.ndjson'), '');
  const nasty = placesOf(nastyProgram());
  for (const [name, list] of [['whole', places] as const, ['nasty', nasty] as const]) {
    writeFileSync(join(folder, `.${name}.bash`), bashCompletion(list));
    writeFileSync(join(folder, `.${name}.zsh`), zshCompletion(list));
    writeFileSync(join(folder, `.${name}.fish`), fishCompletion(list));
  }
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function nastyProgram(): Command {
  const program = new Command('rag-serving');
  program
    .command('odd')
    .description(`${NASTY}\n\tsecond line\x1b[31m`)
    .option('--plain', NASTY)
    .addOption(new Option('--pick <x>', NASTY).choices(['a b', '$(touch ran)', "it's"]));
  program.command('other').description('no harm');
  return program;
}

describe('what the commands say of themselves', () => {
  it('has each command, subcommand and option', () => {
    expect(at('')?.commands.map(({ name }) => name)).toEqual(expect.arrayContaining(['worker', 'dlq', 'help']));
    expect(at('/dlq/replay')?.options.flatMap(({ flags }) => flags)).toEqual(
      expect.arrayContaining(['--rate', '--dry-run', '-h', '--help']),
    );
  });
  it('knows choices, paths, and what nobody can complete', () => {
    const values = (path: string, flag: string) => at(path)?.options.find(({ flags }) => flags.includes(flag))?.values;
    expect(values('/plan', '--sink')).toEqual(planSinks);
    expect(values('/ingest', '--rejects')).toBe('file');
    expect(values('/engine', '--model-dir')).toBe('folder');
    expect(values('/worker', '--sink-module')).toBe('file');
    expect(values('/plan', '--rate')).toBe('none');
    expect(at('/produce')?.operands).toEqual([{ values: 'file', repeats: true }]);
    expect(at('/help')?.operands[0]?.values).toContain('dlq');
  });
});

describe('bash', () => {
  const ask = (...words: string[]) => askBash('.whole.bash', words, folder);
  const asked: [name: string, words: string[], answers: string[]][] = [
    ['a command', ['dl'], ['dlq']],
    ['a subcommand', ['dlq', 're'], ['replay']],
    ['an option', ['dlq', 'replay', '--max'], ['--max-replays']],
    ['a value', ['plan', '--sink', 'r'], ['redis']],
    ['all values', ['plan', '--sink', ''], [...planSinks]],
    ['a value after =', ['plan', '--sink', '=', 'r'], ['redis']],
    ['all values after =', ['plan', '--sink', '='], [...planSinks]],
    ['a command after a value that is named as one', ['models', '--help', 'pus'], ['push']],
    ['an option after values', ['dlq', 'replay', '--rate', '5', '--dry'], ['--dry-run']],
    ['an option after an address', ['status', '--worker', 'http', ':', '//h', ':', '80', '--wat'], ['--watch']],
    ['nothing for a number', ['plan', '--rate', ''], []],
    ['nothing inside an address', ['status', '--worker', 'http', ':'], []],
    ['a file', ['produce', 'ch'], ['chunks.ndjson']],
    ['a file after another', ['produce', 'x', 'ch'], ['chunks.ndjson']],
    ['a folder', ['engine', '--model-dir', ''], ['models here']],
    ['a path after --', ['produce', '--', 'ch'], ['chunks.ndjson']],
    ['nothing past the last operand', ['models', 'push', 'a', 'b', ''], []],
    ['a command of help', ['help', 'sea'], ['search']],
    ['a shell', ['completion', 'b'], ['bash']],
  ];
  for (const [name, words, answers] of asked) it(name, () => expect(ask(...words)).toEqual(answers));

  it('each option of a command', () => {
    const flags = at('/dlq/replay')?.options.flatMap(({ flags }) => flags);
    expect(ask('dlq', 'replay', '--')).toEqual(flags?.filter((flag) => flag.startsWith('--')));
  });
  it('runs nothing of what a text holds', () => {
    expect(askBash('.nasty.bash', ['o'], folder)).toEqual(['odd', 'other']);
    expect(askBash('.nasty.bash', ['odd', '--pick', ''], folder)).toEqual(['a\\ b', '\\$\\(touch\\ ran\\)', "it\\'s"]);
    expect(readdirSync(folder)).not.toContain('ran');
  });
});

describe.skipIf(!fish)(`fish${fish ? '' : ' (is not on this machine: apt-get install fish)'}`, () => {
  const ask = (line: string) => askFish('.whole.fish', `rag-serving ${line}`, folder);
  const asked: [line: string, answers: string[]][] = [
    ['dl', ['dlq\tdead letters: list, show, count, replay and purge them']],
    ['dlq replay --max', ['--max-replays\tleave letters that have been replayed so often']],
    ['plan --sink r', ['redis']],
    ['plan --sink=r', ['--sink=redis']],
    ['plan --rate ', []],
    ['produce ch', ['chunks.ndjson']],
    ['engine --model-dir mod', ['models here/']],
    ['models push a b ', []],
    ['completion b', ['bash']],
  ];
  for (const [line, answers] of asked) it(line, () => expect(ask(line)).toEqual(answers));

  it('takes each text literally', () => {
    expect(askFish('.nasty.fish', 'rag-serving odd --pl', folder)).toEqual([`--plain\t${NASTY}`]);
    expect(askFish('.nasty.fish', 'rag-serving od', folder)).toEqual([`odd\t${NASTY} second line [31m`]);
    expect(askFish('.nasty.fish', 'rag-serving odd --pick it', folder)).toEqual(["it's"]);
    expect(readdirSync(folder)).not.toContain('ran');
  });
});

describe.skipIf(!zsh)(`zsh${zsh ? '' : ' (is not on this machine: apt-get install zsh)'}`, () => {
  const typed = (file: string, keys: string, shows: RegExp) => typeIntoZsh(file, `rag-serving ${keys}`, shows, folder);

  const asked: [keys: string, rest: RegExp, line: string][] = [
    ['dl', /q /, 'dlq'],
    ['dlq replay --max', /-replays /, 'dlq replay --max-replays'],
    ['plan --sink r', /edis/, 'plan --sink redis'],
    ['plan --sink=r', /edis/, 'plan --sink=redis'],
    ['produce ch', /unks\.ndjson/, 'produce chunks.ndjson'],
    ['engine --model-dir mod', /els\\ here/, 'engine --model-dir models here'],
  ];
  for (const [keys, rest, line] of asked) {
    it(line, async () => expect(await typed('.whole.zsh', `${keys}\\t`, rest)).toContain(`ran<${line}>`));
  }
  it('shows options with what they do', async () => {
    const screen = await typed('.whole.zsh', 'dlq replay --\\t', /--yes +-- do not ask/);
    expect(screen).toMatch(/--max-replays +-- leave letters that have been replayed so often/);
  });
  it('takes each text literally', async () => {
    const screen = await typed('.nasty.zsh', 'odd --p\\t', /--plain[^\n]*--/);
    expect(screen).toContain(NASTY);
    expect(await typed('.nasty.zsh', 'odd --pick it\\t', /it\\'s/)).toContain("ran<odd --pick it's>");
    expect(readdirSync(folder)).not.toContain('ran');
  });
});
