/** The prose of the demo: documentation that came with the installed npm packages, and what is asked of it. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { committedPath } from '../stack/package-root.ts';

/** In this order, until there are enough chunks. */
const DOCUMENTATION = [
  'fastify/docs/Guides/Delay-Accepting-Requests.md',
  'pino/docs/redaction.md',
  'kafkajs/README.md',
  'pino/docs/help.md',
  'prom-client/README.md',
  'ioredis/README.md',
  'fastify/docs/Guides',
  'fastify/docs/Reference',
  'pino/docs',
];

export const questions = [
  'How do I refuse requests until the application is ready?',
  'How can I keep passwords and other secrets out of the logs?',
  'How do I measure how long requests take, in buckets?',
] as const;

/** Folder that document ids are relative to, and the files and folders in it that are there. */
export function prose(): { readonly base: string; readonly paths: readonly string[] } {
  const base = committedPath('node_modules');
  return { base, paths: DOCUMENTATION.map((name) => join(base, name)).filter(existsSync) };
}
