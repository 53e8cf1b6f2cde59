/** Runs `models golden`: texts, client, signals, the file. */
import { randomUUID } from 'node:crypto';
import { readFile, rename, rm, writeFile } from 'node:fs/promises';
import type { Env } from '../../src/config/env-reader.ts';
import { ServingError } from '../../src/errors.ts';
import type { Questions } from '../../src/golden/asking.ts';
import { formatGolden } from '../../src/golden/golden-file.ts';
import { takeGolden } from '../../src/golden/take.ts';
import { defaultPairs, defaultTexts, readPairs, readTexts } from '../../src/golden/texts.ts';
import { packageVersion } from '../../src/package-version.ts';
import { exitCodes } from '../exit-codes.ts';
import { listenForStop } from '../signals.ts';
import type { GoldenFlags } from './golden.ts';
import { limitedBy, openModelClient } from './model-call.ts';

export async function runGolden(flags: GoldenFlags, env: Env): Promise<number> {
  const questions = await questionsOf(flags);
  const client = openModelClient(flags, env);
  try {
    const golden = await takeGolden(
      {
        ...{ client, questions, model: flags.model, waitMs: flags.wait, callTimeoutMs: flags.callTimeout },
        ...{ at: new Date().toISOString(), version: packageVersion() },
        nowMs: () => performance.now(),
        onWaiting: (reason) => process.stderr.write(`waiting: ${reason}\n`),
      },
      limitedBy(listenForStop().stopping, flags.timeout),
    );
    await writeWhole(flags.output, formatGolden(golden));
    const fingerprint = golden.fingerprint ?? 'none';
    process.stdout.write(`${flags.output}: ${golden.rows.length} rows of ${flags.model}, fingerprint ${fingerprint}\n`);
    return exitCodes.done;
  } finally {
    client.close();
  }
}

async function questionsOf({ kind, texts }: GoldenFlags): Promise<Questions> {
  if (texts === undefined) {
    return kind === 'embedder' ? { kind, rows: defaultTexts } : { kind, rows: defaultPairs };
  }
  let ndjson: string;
  try {
    ndjson = await readFile(texts, 'utf8');
  } catch (cause) {
    throw new ServingError('ARGUMENT_INVALID', `cannot read the texts ${texts}`, { cause });
  }
  return kind === 'embedder' ? { kind, rows: readTexts(ndjson, texts) } : { kind, rows: readPairs(ndjson, texts) };
}

/** What reads the file meanwhile sees the old one or the new one. */
async function writeWhole(path: string, text: string): Promise<void> {
  const temporary = `${path}.${randomUUID()}.tmp`;
  try {
    await writeFile(temporary, text, { flag: 'wx' });
    await rename(temporary, path);
  } catch (cause) {
    await rm(temporary, { force: true });
    throw new ServingError('ARGUMENT_INVALID', `cannot write ${path}`, { cause });
  }
}
