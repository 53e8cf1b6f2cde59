/** Every setting there is, in the order in which .env.example and the documentation show them. */
import { inferenceSettings } from './sections/inference.ts';
import { kafkaSettings } from './sections/kafka.ts';
import { onlineSettings } from './sections/online.ts';
import { pipelineSettings } from './sections/pipeline.ts';
import { platformSettings, storageSettings } from './sections/platform.ts';
import { readinessSettings } from './sections/readiness.ts';
import { registrySettings } from './sections/registry.ts';
import { retrySettings } from './sections/retry.ts';
import { schemaSettings } from './sections/schemas.ts';
import { serverSettings } from './sections/server.ts';
import { shmSettings } from './sections/shm.ts';
import { sinkSettings } from './sections/sink.ts';
import { spotSettings } from './sections/spot.ts';
import { traceSettings } from './sections/traces.ts';
import type { PoolType, Setting, Settings } from './setting.ts';

export type CatalogueSection = { readonly title: string; readonly settings: Settings };

export const catalogue: readonly CatalogueSection[] = [
  { title: 'Process and ops server', settings: serverSettings },
  { title: 'Model servers', settings: inferenceSettings },
  { title: 'Readiness', settings: readinessSettings },
  { title: 'Online module', settings: onlineSettings },
  { title: 'Shared memory', settings: shmSettings },
  { title: 'Kafka', settings: kafkaSettings },
  { title: 'Values and schemas', settings: schemaSettings },
  { title: 'Vector store', settings: sinkSettings },
  { title: 'Pipeline', settings: pipelineSettings },
  { title: 'Retries', settings: retrySettings },
  { title: 'Eviction of spot machines', settings: spotSettings },
  { title: 'Traces', settings: traceSettings },
  { title: 'GPU, registry, cloud, monitoring', settings: platformSettings },
  { title: 'Model registry', settings: registrySettings },
  { title: 'Files', settings: storageSettings },
];

export const allSettings: readonly Setting<unknown>[] = catalogue.flatMap(({ settings }) => Object.values(settings));

/** The default as it would be written into the environment; undefined when unset is the default. */
export function defaultText(setting: Setting<unknown>, pool: PoolType): string | undefined {
  const value = setting.fallback.kind === 'value' ? setting.fallback.value : setting.fallback.values[pool];
  return value === undefined ? undefined : String(value);
}

/** `.env.example`: every line is commented out, because every setting is optional. */
export function renderEnvExample(): string {
  const lines = [
    '# Every setting of rag-inference-serving with its default. All are optional; an empty value means unset, unless said otherwise.',
    '# This file is derived from src/config (`npx vitest run --project unit test/unit/config -u` writes it again).',
  ];
  for (const { title, settings } of catalogue) {
    lines.push('', `# === ${title} ===`);
    for (const setting of Object.values(settings)) lines.push('', ...linesOf(setting));
  }
  return `${lines.join('\n')}\n`;
}

function linesOf(setting: Setting<unknown>): string[] {
  const value = defaultText(setting, 'online_embedding') ?? '';
  const about = [`# ${setting.doc}`, `# Accepts: ${setting.accepts}.${setting.secret ? ' Secret.' : ''}`];
  if (setting.defaultNote !== undefined) about.push(`# Default: ${setting.defaultNote}.`);
  if (setting.fallback.kind === 'by-pool') {
    const each = Object.entries(setting.fallback.values).map(([pool, fallback]) => `${pool} ${fallback}`);
    about.push(`# Default by pool: ${each.join(', ')}.`);
  }
  return [...about, `#${setting.name}=${value}`];
}
