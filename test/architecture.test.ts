/** The dependency rule, and the other promises about structure that a reviewer should not have to check by eye. */
import { describe, expect, it } from 'vitest';
import { importsOf, readSourceFiles, type SourceFile } from './support/source-files.ts';

const files = readSourceFiles();
const byPath = new Map(files.map((file) => [file.path, file]));
const product = files.filter(({ path }) => !path.startsWith('test/'));
const isGenerated = (path: string) => path.includes('/gen/');

type Rule = { readonly name: string; readonly from: RegExp; readonly mayNotImport: RegExp; readonly typesToo: boolean };

const rules: readonly Rule[] = [
  {
    name: 'src is a library: it knows no program',
    from: /^src\//,
    mayNotImport: /^(workers|online|scripts|test)\//,
    typesToo: true,
  },
  {
    name: 'programs do not know each other',
    from: /^online\//,
    mayNotImport: /^(workers|scripts|test)\//,
    typesToo: true,
  },
  {
    name: 'programs do not know each other',
    from: /^workers\/(?!search\/)/,
    mayNotImport: /^(online|scripts|test)\//,
    typesToo: true,
  },
  {
    name: 'decisions do no I/O',
    from: /^src\/(records|kserve|resilience|offsets|lifecycle)\//,
    mayNotImport:
      /^(node:(?!crypto|buffer)|@grpc\/|kafkajs|ioredis|pg$|fastify|pino|prom-client|@lancedb\/|onnxruntime|shm-typed-array|src\/(kafka|inference|ops|shm|sinks|engine|telemetry|config|pipeline)\/)/,
    typesToo: true,
  },
  {
    name: 'what runs in the browser takes no code of the server',
    from: /^page\//,
    mayNotImport: /^(?!page\/)/,
    typesToo: false,
  },
  {
    name: 'the server knows the page only as it is bundled',
    from: /^(src|online|workers|scripts)\//,
    mayNotImport: /^page\//,
    typesToo: true,
  },
  {
    name: 'the command search is a user of the online module',
    from: /^workers\/search\//,
    mayNotImport: /^(scripts|test)\/|^online\/(?!index\.ts$)/,
    typesToo: true,
  },
];

/** One technology, one home: where each package may be imported. The scripts, which are no part of the package, are free. */
const homes: readonly (readonly [packageName: RegExp, home: RegExp])[] = [
  [/^kafkajs(-snappy)?$|^lz4-napi$/, /^src\/kafka\//],
  [/^fzstd$/, /^(src\/kafka|workers\/files)\//],
  [/^csv-parse$|^hyparquet/, /^workers\/files\//],
  [/^@grpc\/grpc-js$/, /^src\/(inference|engine)\//],
  [/^shm-typed-array$/, /^src\/shm\//],
  [/^ioredis$/, /^src\/sinks\/redis\//],
  [/^pg$/, /^src\/sinks\/pgvector\//],
  [/^@lancedb\/lancedb$|^apache-arrow$/, /^src\/sinks\/lancedb\//],
  [/^bullmq$/, /^src\/retry\//],
  [/^fastify|^@fastify\//, /^src\/ops\//],
  [/^(pino|prom-client)$|^@opentelemetry\//, /^src\/telemetry\//],
  [/^onnxruntime-node$|^@huggingface\/tokenizers$/, /^src\/engine\//],
  [/^@aws-sdk\/|^@smithy\//, /^src\/registry\/s3\//],
  [/^avsc$|^protobufjs$/, /^src\/schemas\//],
  [/^commander$/, /^(workers|scripts)\//],
  [/^@bufbuild\/protobuf/, /^src\/(kserve|inference|engine)\//],
];

function violations(rule: Rule, among: readonly SourceFile[]): string[] {
  return among
    .filter(({ path }) => rule.from.test(path))
    .flatMap(({ path, imports }) =>
      imports
        .filter(({ target, typeOnly }) => rule.mayNotImport.test(target) && (rule.typesToo || !typeOnly))
        .map(({ target }) => `${path} -> ${target}`),
    );
}

function folderCycle(among: readonly SourceFile[]): string[] | undefined {
  const folderOf = (path: string) => path.split('/').slice(0, 2).join('/');
  const edges = new Map<string, Set<string>>();
  for (const { path, imports } of among) {
    for (const { target } of imports) {
      if (!target.startsWith('src/') || folderOf(target) === folderOf(path)) continue;
      edges.set(folderOf(path), (edges.get(folderOf(path)) ?? new Set()).add(folderOf(target)));
    }
  }
  const pathBack = (start: string, at: string, seen: string[]): string[] | undefined => {
    for (const next of edges.get(at) ?? []) {
      if (next === start) return [...seen, at, start];
      if (seen.includes(next)) continue;
      const found = pathBack(start, next, [...seen, at]);
      if (found !== undefined) return found;
    }
    return undefined;
  };
  for (const start of edges.keys()) {
    const found = pathBack(start, start, []);
    if (found !== undefined) return found;
  }
  return undefined;
}

function reachableFrom(start: string): Set<string> {
  const seen = new Set<string>();
  const visit = (path: string) => {
    if (seen.has(path)) return;
    seen.add(path);
    for (const { target, typeOnly } of byPath.get(path)?.imports ?? []) if (!typeOnly) visit(target);
  };
  visit(start);
  return seen;
}

describe('structure', () => {
  for (const rule of rules) {
    it(`${rule.name}: ${rule.from} may not import ${rule.mayNotImport}`, () => {
      expect(violations(rule, product)).toEqual([]);
    });
  }

  for (const [packageName, home] of homes) {
    it(`${packageName} has one home: ${home}`, () => {
      const strays = product
        .filter(({ path }) => !home.test(path) && !path.startsWith('scripts/'))
        .flatMap(({ path, imports }) => imports.filter(({ target }) => packageName.test(target)).map(() => path));
      expect(strays).toEqual([]);
    });
  }

  it('folders of src form no cycle', () => {
    expect(folderCycle(product.filter(({ path }) => path.startsWith('src/')))).toBeUndefined();
  });

  it('only src/config, the command line and the scripts read the environment', () => {
    const readers = product.filter(({ path, text }) =>
      path.startsWith('src/') || path.startsWith('online/') || path.startsWith('workers/')
        ? /\bprocess\.env\b/.test(text)
        : false,
    );
    expect(readers.map(({ path }) => path).filter((path) => !/^src\/config\/|^workers\/main\.ts$/.test(path))).toEqual(
      [],
    );
  });

  it('no file is longer than 300 lines', () => {
    const long = files.filter(({ path, lines }) => lines > 300 && !isGenerated(path));
    expect(long.map(({ path, lines }) => `${path} ${lines}`)).toEqual([]);
  });

  it('no file has a name that says nothing', () => {
    const vague = files.filter(({ path }) => /\/(utils?|helpers?|common|types|manager)(\.test)?\.ts$/.test(path));
    expect(vague.map(({ path }) => path)).toEqual([]);
  });

  it('nothing is exported by default or wholesale', () => {
    const wholesale = product.filter(({ path, text }) => !isGenerated(path) && /^export (default|\*)/m.test(text));
    expect(wholesale.map(({ path }) => path)).toEqual([]);
  });

  it('the online module loads without Kafka, stores, retries, shared memory, the engine and the ops server', () => {
    const reached = [...reachableFrom('online/index.ts')];
    const folders =
      /^(src\/(kafka|sinks|retry|shm|engine|ops|offsets|lifecycle|spot|pipeline|records)|workers|scripts)\//;
    expect(reached.filter((target) => folders.test(target))).toEqual([]);
    const packages = reached.filter((target) => !byPath.has(target) && !target.startsWith('node:'));
    // prom-client only where a host passes a registry, the API of OpenTelemetry only where a host has it.
    expect(packages.sort()).toEqual([
      '@bufbuild/protobuf',
      '@bufbuild/protobuf/codegenv2',
      '@grpc/grpc-js',
      '@opentelemetry/api',
      'prom-client',
    ]);
  });

  it('what travels to a sink or engine is loaded only by its own folder: the pure folders load no technology', () => {
    for (const start of files.filter(({ path }) =>
      /^src\/(records|resilience|offsets|lifecycle)\/[^/]+\.ts$/.test(path),
    )) {
      const packages = [...reachableFrom(start.path)].filter((target) => !byPath.has(target));
      expect(
        packages.filter((name) => !name.startsWith('node:')),
        start.path,
      ).toEqual([]);
    }
  });
});

describe('the rules themselves notice', () => {
  const planted = (path: string, text: string): SourceFile => ({
    path,
    text,
    lines: 1,
    imports: importsOf(path, text),
  });

  it('an import of a program from the library', () => {
    const file = planted('src/records/x.ts', "import { a } from '../../workers/worker.ts';");
    expect(violations(rules[0] as Rule, [file])).toEqual(['src/records/x.ts -> workers/worker.ts']);
  });

  it('a re-export, a type import and a dynamic import', () => {
    const text = "export { a } from 'x'; import type { B } from 'y'; const c = await import('z');";
    expect(importsOf('src/a.ts', text)).toEqual([
      { target: 'y', typeOnly: true },
      { target: 'x', typeOnly: false },
      { target: 'z', typeOnly: false },
    ]);
  });

  it('I/O in a pure folder', () => {
    const file = planted('src/offsets/x.ts', "import { readFileSync } from 'node:fs';");
    expect(violations(rules[3] as Rule, [file])).toEqual(['src/offsets/x.ts -> node:fs']);
  });

  it('a cycle of folders', () => {
    const a = planted('src/a/x.ts', "import { y } from '../b/y.ts';");
    const b = planted('src/b/y.ts', "import { x } from '../a/x.ts';");
    expect(folderCycle([a, b])).toEqual(['src/a', 'src/b', 'src/a']);
  });
});
