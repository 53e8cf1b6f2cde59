#!/usr/bin/env node
/**
 * Stands in for trtexec, which needs a GPU: the option grammar of trtexec 10.16 and 11 as their sources have it, and none of TensorRT.
 *
 * It splits at the first "=", refuses options that it does not know and shapes that are in no order or for no input of the model, and
 * writes bytes under --saveEngine that are no engine. FAKE_TRTEXEC_VERSION is the number in its banner, FAKE_TRTEXEC_MODE how it
 * ends, FAKE_TRTEXEC_RECORD a file for its command line.
 */
import { readFileSync, writeFileSync } from 'node:fs';

const { FAKE_TRTEXEC_VERSION = '101600', FAKE_TRTEXEC_MODE = 'ok', FAKE_TRTEXEC_RECORD } = process.env;
const FLAGS = [
  ...[
    '--stronglyTyped',
    '--noTF32',
    '--skipInference',
    '--verbose',
    '--refit',
    '--versionCompatible',
    '--vc',
    '--noBuilderCache',
  ],
  ...[
    '--directIO',
    '--safe',
    '--stripWeights',
    '--errorOnTimingCacheMiss',
    '--allowWeightStreaming',
    '--monitorMemory',
  ],
];
const VALUES = [
  ...[
    '--onnx',
    '--saveEngine',
    '--minShapes',
    '--optShapes',
    '--maxShapes',
    '--memPoolSize',
    '--timingCacheFile',
    '--device',
  ],
  ...[
    '--builderOptimizationLevel',
    '--profilingVerbosity',
    '--maxAuxStreams',
    '--hardwareCompatibilityLevel',
    '--tempdir',
  ],
];
/** TensorRT 11 has no weakly typed networks any more. */
const WEAKLY_TYPED = [
  '--fp16',
  '--bf16',
  '--int8',
  '--best',
  '--layerPrecisions',
  '--precisionConstraints',
  '--layerOutputTypes',
];

const log = (text) => process.stdout.write(`[11/30/2026-12:00:00] [I] ${text}\n`);
const fail = (...errors) => {
  for (const error of errors) process.stderr.write(`[11/30/2026-12:00:00] [E] ${error}\n`);
  process.stdout.write(`&&&& FAILED ${banner}\n`);
  process.exit(1);
};
const banner = `TensorRT.trtexec [TensorRT v${FAKE_TRTEXEC_VERSION}] [b26] # ${process.argv.slice(1).join(' ')}`;
process.stdout.write(`&&&& RUNNING ${banner}\n`);

const args = process.argv.slice(2);
if (args.includes('--help') || args.length === 0) {
  process.stdout.write('=== Model Options ===\n  --onnx=<file>               ONNX model\n');
  process.stdout.write(`&&&& PASSED ${banner}\n`);
  process.exit(0);
}
if (FAKE_TRTEXEC_RECORD !== undefined) writeFileSync(FAKE_TRTEXEC_RECORD, JSON.stringify(args));

const options = new Map(
  args.map((arg) =>
    arg.includes('=') ? [arg.slice(0, arg.indexOf('=')), arg.slice(arg.indexOf('=') + 1)] : [arg, ''],
  ),
);
const known = new Set([...FLAGS, ...VALUES, ...(Number(FAKE_TRTEXEC_VERSION) < 110000 ? WEAKLY_TYPED : [])]);
const unknown = [...options].filter(([name]) => !known.has(name));
if (unknown.length > 0) fail(...unknown.map(([name, value]) => `Unknown option: ${name} ${value}`));
for (const name of VALUES)
  if (options.get(name) === '') fail('basic_string::at: __n (which is 18446744073709551615) >= this->size()');
if (!options.has('--onnx')) fail('Model missing or format not recognized');

const pool = /^workspace:(\d+(?:\.\d+)?)([BKMG]?)$/.exec(options.get('--memPoolSize') ?? 'workspace:1');
if (pool === null) fail('conversion failure: failed to parse --memPoolSize. Please double check your input string.');
if (!/^[0-5]$/.test(options.get('--builderOptimizationLevel') ?? '3'))
  fail('builder optimization level is out of range');

log('Selected Device: NVIDIA L4');
log('Selected Device ID: 0');
log('Compute Capability: 8.9');
log('SMs: 58');

const parse = (name) =>
  new Map(
    options
      .get(name)
      .split(',')
      .map((spec) => {
        const found = /^'?(.+?)'?:(\d+(?:x\d+)*)$/.exec(spec);
        if (found === null)
          fail(
            'conversion failure: failed to parse minShapes/optShapes/maxShapes. Please double check your input string.',
          );
        return [found[1], found[2].split('x').map(Number)];
      }),
  );
const [min, opt, max] = ['--minShapes', '--optShapes', '--maxShapes'].map(parse);
// An input of the graph as protobuf writes it: 0x5a ("Z"), length, 0x0a, length of the name, the name, 0x12.
const model = readFileSync(options.get('--onnx')).toString('latin1');
const inputs = ['input_ids', 'attention_mask', 'token_type_ids'].filter((name) => {
  const field = `\n${String.fromCharCode(name.length)}${name}\x12`;
  for (let at = model.indexOf(field); at !== -1; at = model.indexOf(field, at + 1))
    if (model[at - 2] === 'Z') return true;
  return false;
});
for (const name of min.keys()) {
  if (!inputs.includes(name))
    fail(
      `Cannot find input tensor with name "${name}" in the network inputs! Please make sure the input tensor names are correct.`,
    );
}
for (const name of inputs) {
  if (!min.has(name))
    process.stdout.write(
      `[W] Dynamic dimensions required for input: ${name}, but no shapes were provided. Automatically overriding shape to: 1x1\n`,
    );
}
for (const [name, low] of min) {
  const [middle, high] = [opt.get(name) ?? [], max.get(name) ?? []];
  const ordered = low.length === 2 && low.every((size, at) => size <= middle[at] && middle[at] <= high[at]);
  if (!ordered)
    fail(
      `Error Code 4: Internal Error (${name}: for dimension number 0 in profile 0 does not satisfy kMIN <= kOPT <= kMAX)`,
    );
}

const save = options.get('--saveEngine');
const half = () => writeFileSync(save, 'half of an eng');
switch (FAKE_TRTEXEC_MODE) {
  case 'ok':
    log('Engine built in 61.7 sec.');
    writeFileSync(save, `no engine: ${args.join(' ')}`);
    if (options.has('--timingCacheFile')) writeFileSync(options.get('--timingCacheFile'), 'timings');
    process.stdout.write(`&&&& PASSED ${banner}\n`);
    break;
  case 'no-engine':
    process.stdout.write(`&&&& PASSED ${banner}\n`);
    break;
  case 'out-of-memory':
    fail(
      '[defaultAllocator.cpp::allocate::31] Error Code 1: Cuda Runtime (out of memory)',
      'Engine could not be created from network',
    );
    break;
  case 'unsupported':
    fail(
      'In node 7 with name: and operator: Gelu (importFallbackPluginImporter): UNSUPPORTED_NODE: Assertion failed: creator && "Plugin not found"',
    );
    break;
  case 'disk-full':
    half();
    fail('Saving engine to file failed.');
    break;
  case 'unheard-of':
    fail('Error Code 99: nobody has seen this before');
    break;
  case 'killed':
    half();
    process.kill(process.pid, 'SIGKILL');
    break;
  case 'hang':
    half();
    log('building');
    setInterval(() => {}, 60_000);
    break;
  case 'deaf':
    process.on('SIGTERM', () => {});
    half();
    log('building');
    setInterval(() => {}, 60_000);
    break;
}
