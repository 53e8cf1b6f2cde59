/** The prose of the demo: documentation that came with the installed npm packages. */
import { existsSync } from 'node:fs';
import { committedPath } from '../stack/package-root.ts';

/** In this order, until there are enough chunks. */
const DOCUMENTATION = [
  'fastify/docs/Guides',
  'pino/docs',
  'kafkajs/README.md',
  'prom-client/README.md',
  'ioredis/README.md',
];

export const questions = [
  'How do I refuse requests until the application is ready?',
  'How can I keep passwords and other secrets out of the logs?',
  'How do I reconnect automatically when the connection to Redis is lost?',
] as const;

export function proseFolders(): string[] {
  const modules = committedPath('node_modules');
  return DOCUMENTATION.map((name) => `${modules}/${name}`).filter(existsSync);
}
