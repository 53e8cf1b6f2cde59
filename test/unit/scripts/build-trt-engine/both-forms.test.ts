/** The TypeScript form and the shell form give the same command, the same plan and the same manifest. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { engineManifestSchema, planManifestSchema } from '../../../../scripts/build-trt-engine/manifest.ts';
import {
  cleanEnv,
  FAKE_TRTEXEC,
  folderWithTrtexec,
  openWorkshop,
  runScript,
  runShell,
  type Workshop,
} from './workshop.ts';

let workshop: Workshop;
let embedder: string;
let reranker: string;
let float32: string;
beforeAll(async () => {
  workshop = await openWorkshop();
  embedder = await workshop.model('embedder', { tokenTypes: true, positions: 512 });
  reranker = await workshop.model("it's a re ranker", { labels: 1, tokenTypes: true, positions: 2048 });
  float32 = await workshop.model('float32', { fp16: false });
});
afterAll(() => workshop.close());

type Case = {
  readonly name: string;
  readonly args: () => readonly string[];
  readonly env?: Readonly<Record<string, string>>;
};

const at = (profile: string, onnx: string, engine = 'models/1/model.plan') => [
  ...['--profile', profile, '--onnx-path', onnx, '--output-engine-path', join(workshop.folder, engine)],
];
const cases: readonly Case[] = [
  { name: 'online_embed', args: () => at('online_embed', embedder) },
  { name: 'online_rerank, names to be quoted', args: () => at('online_rerank', reranker, "it's/the engine.plan") },
  { name: 'batch_ingestion', args: () => at('batch_ingestion', embedder) },
  { name: 'a model without token types, in FP32', args: () => [...at('online_embed', float32), '--precision', 'fp32'] },
  {
    name: 'every option',
    args: () => [
      ...at('batch_ingestion', embedder),
      ...['--max-batch=64', '--max-tokens', '128', '--workspace', '4096', '--optimization-level', '5', '--device', '1'],
      ...['--timing-cache', join(workshop.folder, 'timings/./l4.cache'), '--trtexec', FAKE_TRTEXEC],
    ],
  },
  {
    name: 'no timing cache, paths that are not in their shortest form',
    args: () => [...at('online_embed', embedder, 'x/../y//model.plan'), '--no-timing-cache'],
  },
  {
    name: 'VRAM settings of a smaller GPU, with blanks',
    args: () => at('online_embed', embedder),
    env: { RAG_SERVING_MAX_STATIC_VRAM_BYTES: ' 12884901888 ', RAG_SERVING_VRAM_CAPACITY_BYTES: '17179869184' },
  },
  {
    name: 'settings that are empty are unset',
    args: () => at('online_embed', embedder),
    env: { RAG_SERVING_MAX_STATIC_VRAM_BYTES: '' },
  },
];

describe('both forms give the same command and plan', () => {
  for (const { name, args, env } of cases) {
    it(name, async () => {
      const all = [...args(), '--dry-run'];
      const plan = `${all[5]}.plan.json`;
      const shell = await runShell(all, cleanEnv(env));
      expect(shell).toMatchObject({ code: 0 });
      const fromShell = planManifestSchema.parse(JSON.parse(await readFile(plan, 'utf8')));
      const script = await runScript([...all, '--trial-tokens', '0'], cleanEnv(env));
      const fromScript = planManifestSchema.parse(JSON.parse(await readFile(plan, 'utf8')));

      expect(shell.stdout).toBe(script.stdout);
      expect({ ...fromShell, createdAt: '' }).toEqual({ ...fromScript, createdAt: '' });
      const words = await wordsOf(script.stdout);
      expect(words).toEqual(fromScript.command);
    });
  }

  it('the command is the one that the documents show', async () => {
    const args = [...at('online_embed', embedder), '--dry-run', '--trial-tokens', '0'];
    const { stdout } = await runScript(args, cleanEnv());
    const models = join(workshop.folder, 'models/1');
    expect(stdout).toBe(
      `trtexec --onnx=${embedder} --saveEngine=${models}/.model.plan.building/model.plan ` +
        '--minShapes=input_ids:1x1,attention_mask:1x1,token_type_ids:1x1 ' +
        '--optShapes=input_ids:8x64,attention_mask:8x64,token_type_ids:8x64 ' +
        '--maxShapes=input_ids:32x512,attention_mask:32x512,token_type_ids:32x512 ' +
        '--stronglyTyped --memPoolSize=workspace:10239M ' +
        `--timingCacheFile=${models}/trt-timing.cache --builderOptimizationLevel=3 --device=0 --skipInference\n`,
    );
  });

  it('trtexec is found on PATH by both', async () => {
    const bin = await folderWithTrtexec(workshop.folder);
    const env = cleanEnv({ PATH: `/nowhere::${bin}:${process.env.PATH}` });
    const args = [...at('online_embed', embedder), '--dry-run'];
    const shell = await runShell(args, env);
    const script = await runScript([...args, '--trial-tokens', '0'], env);
    expect(shell.stdout.split(' ')[0]).toBe(join(bin, 'trtexec'));
    expect(script.stdout).toBe(shell.stdout);
  });

  it('a relative path is one of the folder they run in', async () => {
    const args = [
      '--profile',
      'online_embed',
      '--onnx-path',
      'embedder.onnx',
      '--output-engine-path',
      'out/model.plan',
      '--dry-run',
    ];
    const { stdout } = await runShell(args, cleanEnv(), workshop.folder);
    expect(stdout).toContain(
      `--onnx=${workshop.folder}/embedder.onnx --saveEngine=${workshop.folder}/out/.model.plan.building/`,
    );
  });
});

describe('both forms write the same manifest of a build', () => {
  it('with weights in a file of their own', async () => {
    const onnx = await workshop.model('large', { tokenTypes: true, largestFileBytes: 1, positions: 512 });
    const args = [...at('online_embed', onnx), '--trtexec', FAKE_TRTEXEC];
    const read = async () => engineManifestSchema.parse(JSON.parse(await readFile(`${args[5]}.manifest.json`, 'utf8')));
    const env = cleanEnv({ PATH: `${dirnameOfNode()}:/usr/bin:/bin` });
    expect(await runShell(args, env)).toMatchObject({ code: 0 });
    const fromShell = await read();
    await runScript([...args, '--trial-tokens', '0'], env);
    const fromScript = await read();

    const timeless = { createdAt: '', buildSeconds: 0 };
    expect({ ...fromShell, ...timeless }).toEqual({ ...fromScript, ...timeless });
    expect(fromScript).toMatchObject({
      ...{ tensorrt: '10.16.0', cuda: '12.6.3', gpu: { name: 'NVIDIA L4', computeCapability: '8.9' } },
      sourceData: { file: 'large.onnx.data' },
      fingerprint: { model: 'owner/tiny', revision: 'a'.repeat(40), compute: 'fp16', positions: '512', dims: '12' },
    });
  });
});

/** What a shell makes of the line. */
async function wordsOf(line: string): Promise<string[]> {
  const { execFile } = await import('node:child_process');
  return await new Promise((resolve, reject) => {
    execFile('bash', ['-c', `printf '%s\\n' ${line}`], (error, stdout) =>
      error === null ? resolve(stdout.trimEnd().split('\n')) : reject(error),
    );
  });
}

function dirnameOfNode(): string {
  return join(process.execPath, '..');
}
