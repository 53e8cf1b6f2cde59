/** All checks in the order in which they are shown, and which of them need which. */
import { workerMemoryBytes } from '../plan/memory.ts';
import type { Check } from './check.ts';
import { lookAtBrokers } from './checks/brokers.ts';
import { lookAtCertificates } from './checks/certificates.ts';
import { lookAtEngines, lookAtModel } from './checks/engine.ts';
import { lookAtGroup } from './checks/group.ts';
import { lookAtOpenFiles, memoryLimitBytes, memoryVerdict, nodeVerdict } from './checks/machine.ts';
import { clockVerdict, lookAtRetries } from './checks/retries.ts';
import { lookAtSchemas } from './checks/schemas.ts';
import { settingsVerdict } from './checks/settings.ts';
import { lookAtSpace, lookAtVisibility, regionBytesOf } from './checks/shared-memory.ts';
import { lookAtCollections, lookAtDisk, lookAtStores } from './checks/store.ts';
import { lookAtDeadLetters, lookAtTopic } from './checks/topic.ts';
import type { Parts } from './parts.ts';

export function allChecks(parts: Parts): readonly Check[] {
  const { config, found } = parts;
  const check = (group: Check['group'], name: string, after: readonly string[], look: Check['look']): Check => ({
    name,
    group,
    after,
    look,
  });
  const neededBytes = workerMemoryBytes(config.pipeline.maxInFlightBytes, regionBytesOf(config, undefined));
  return [
    check('settings', 'settings', [], async () => settingsVerdict(config.warnings)),
    check('settings', 'certificates', [], () => lookAtCertificates(config, Date.now())),
    check('machine', 'node', [], async () => nodeVerdict(process.versions.node)),
    check('machine', 'open files', [], lookAtOpenFiles),
    check('machine', 'memory', [], async () => memoryVerdict(neededBytes, memoryLimitBytes())),
    check('kafka', 'brokers', [], (signal) => lookAtBrokers(parts, signal)),
    check('kafka', 'topic', ['brokers'], () => lookAtTopic(parts)),
    check('kafka', 'group', ['topic'], () => lookAtGroup(parts)),
    check('kafka', 'dead letters', ['brokers'], () => lookAtDeadLetters(parts)),
    check('kafka', 'schemas', [], (signal) => lookAtSchemas(parts, signal)),
    check('engine', 'engine', [], (signal) => lookAtEngines(parts, signal)),
    check('engine', 'model', ['engine'], (signal) => lookAtModel(parts, signal)),
    check('shared-memory', 'room', ['model'], () => lookAtSpace(parts)),
    check('shared-memory', 'visible', ['room'], (signal) => lookAtVisibility(parts, signal)),
    check('store', 'disk', [], () => lookAtDisk(parts)),
    check('store', 'store', [], (signal) => lookAtStores(parts, signal)),
    check('store', 'collection', ['store', 'model'], () => lookAtCollections(parts)),
    check('retries', 'retries', [], (signal) => lookAtRetries(parts, signal)),
    check('retries', 'clock', ['retries'], async () => clockVerdict(found.clock)),
  ];
}
