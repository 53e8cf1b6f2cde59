/** What the clouds document, and what nobody does: each answer read for what it means. */
import { describe, expect, it } from 'vitest';
import { readAwsInstanceAction, readAwsRebalance } from '../../../src/lifecycle/spot-aws.ts';
import { readAzureEvents } from '../../../src/lifecycle/spot-azure.ts';
import { readGcpMaintenance, readGcpPreempted } from '../../../src/lifecycle/spot-gcp.ts';
import { readHook } from '../../../src/lifecycle/spot-hook.ts';
import { SpotNotices, type SpotReading } from '../../../src/lifecycle/spot-notice.ts';
import { azureEvent } from '../../support/metadata/clouds.ts';

const NOW = Date.parse('2017-09-18T08:20:00Z');
const notice = (kind: string, leftMs?: number): unknown => ({ kind: 'notice', notice: { kind, leftMs } });
const summary = (reading: SpotReading) => (reading.kind === 'unknown' ? 'unknown' : reading);

describe('AWS', () => {
  it.for<[name: string, body: string, expected: unknown]>([
    ['terminate', '{"action": "terminate", "time": "2017-09-18T08:22:00Z"}', notice('interruption', 120_000)],
    ['stop', '{"action": "stop", "time": "2017-09-18T08:21:30Z"}', notice('interruption', 90_000)],
    ['hibernate, which has begun', '{"action":"hibernate","time":"2017-09-18T08:19:59Z"}', notice('interruption', 0)],
    ['a time that is none', '{"action":"terminate","time":"soon"}', notice('interruption')],
    ['no time', '{"action":"terminate"}', notice('interruption')],
    ['an action of tomorrow', '{"action":"evaporate","time":"2017-09-18T08:22:00Z"}', notice('interruption', 120_000)],
    ['an empty answer', '', 'unknown'],
    ['HTML of something in between', '<html>Sign in</html>', 'unknown'],
    ['a JSON list', '["terminate"]', 'unknown'],
    ['JSON null', 'null', 'unknown'],
    ['cut in the middle', '{"action": "termin', 'unknown'],
  ])('instance-action: %s', ([, body, expected]) => {
    expect(summary(readAwsInstanceAction(body, NOW))).toEqual(expected);
  });

  it.for<[name: string, body: string, expected: unknown]>([
    ['as documented', '{"noticeTime":"2020-10-27T08:22:00Z"}', notice('rebalance')],
    ['without a time', '{}', 'unknown'],
    ['no JSON', 'yes', 'unknown'],
  ])('rebalance: %s', ([, body, expected]) => {
    expect(summary(readAwsRebalance(body))).toEqual(expected);
  });
});

describe('GCP', () => {
  it.for<[body: string, expected: unknown]>([
    ['TRUE', notice('interruption')],
    ['TRUE\n', notice('interruption')],
    ['FALSE', { kind: 'none' }],
    ['', 'unknown'],
    ['1', 'unknown'],
  ])('preempted %j', ([body, expected]) => {
    expect(summary(readGcpPreempted(body))).toEqual(expected);
  });

  it.for<[body: string, expected: unknown]>([
    ['NONE', { kind: 'none' }],
    ['MIGRATE_ON_HOST_MAINTENANCE', { kind: 'none' }],
    ['TERMINATE_ON_HOST_MAINTENANCE', notice('maintenance')],
    ['SHUTDOWN_ON_HOST_MAINTENANCE', notice('maintenance')],
    ['SOMETHING_ELSE', 'unknown'],
  ])('maintenance-event %j', ([body, expected]) => {
    expect(summary(readGcpMaintenance(body))).toEqual(expected);
  });
});

describe('Azure', () => {
  const now = Date.parse('Mon, 19 Sep 2016 18:29:17 GMT');
  const event = (more: Record<string, unknown> = {}) =>
    azureEvent({ EventId: 'E1', Resources: ['vm_0'], NotBefore: 'Mon, 19 Sep 2016 18:29:47 GMT', ...more });
  const ours = (kind: string, leftMs: number | undefined) => ({
    kind: 'notice',
    notice: { kind, leftMs, eventId: 'E1' },
  });
  const read = (...events: unknown[]) =>
    readAzureEvents(JSON.stringify({ DocumentIncarnation: 1, Events: events }), 'VM_0', now).map(summary);

  it.for<[name: string, events: unknown[], expected: unknown[]]>([
    ['nothing scheduled', [], []],
    ['eviction of this machine', [event()], [ours('interruption', 30_000)]],
    ['deletion from its scale set', [event({ EventType: 'Terminate' })], [ours('interruption', 30_000)]],
    ['an event that has begun', [event({ EventStatus: 'Started', NotBefore: '' })], [ours('interruption', 0)]],
    ['no time', [event({ NotBefore: '' })], [ours('interruption', undefined)]],
    ['eviction of a neighbour', [event({ Resources: ['vm_1'] })], []],
    ['of both', [event({ Resources: ['vm_1', 'vm_0'] })], [ours('interruption', 30_000)]],
    ['a pause of some seconds', [event({ EventType: 'Freeze' })], []],
    ['reboot', [event({ EventType: 'Reboot' })], [ours('maintenance', 30_000)]],
    ['redeploy', [event({ EventType: 'Redeploy' })], [ours('maintenance', 30_000)]],
    ['a type of tomorrow', [event({ EventType: 'Teleport' })], ['unknown']],
    ['a type named like a method', [event({ EventType: 'constructor' })], ['unknown']],
    ['an event that is null beside a good one', [null, event()], ['unknown', ours('interruption', 30_000)]],
  ])('%s', ([, events, expected]) => {
    expect(read(...events)).toEqual(expected);
  });

  it.for(['', '[]', 'null', '{"Events":{}}', '{"error":"Bad request"}'])('the answer %j is not understood', (body) => {
    expect(readAzureEvents(body, 'vm_0', now).map(summary)).toEqual(['unknown']);
  });
});

describe('the hook', () => {
  it.for<[name: string, body: string, expected: unknown[]]>([
    ['an empty file', '', [notice('interruption')]],
    ['a deadline', '{"deadline":"2017-09-18T08:20:45Z"}', [notice('interruption', 45_000)]],
    ['a deadline in milliseconds', `{"deadline":${NOW + 1_000}}`, [notice('interruption', 1_000)]],
    ['time left', '{"left_ms":20000}', [notice('interruption', 20_000)]],
    ['time that is over', '{"left_ms":-5}', [notice('interruption', 0)]],
    ['words', 'please go', [notice('interruption'), 'unknown']],
    ['a deadline that is none', '{"deadline":"later"}', [notice('interruption'), 'unknown']],
    ['a list', '[1]', [notice('interruption'), 'unknown']],
  ])('%s is a notice', ([, body, expected]) => {
    expect(readHook(body, NOW).map(summary)).toEqual(expected);
  });
});

describe('what is known of a notice', () => {
  it('is new once, sooner when its end comes nearer, and else the same', () => {
    const known = new SpotNotices();
    const take = (leftMs: number | undefined, now: number) => known.take({ kind: 'interruption', leftMs }, now);
    expect(take(undefined, 0)).toBe('new');
    expect(take(undefined, 1_000)).toBe('known');
    expect(take(60_000, 2_000)).toBe('sooner');
    expect(take(58_900, 3_000)).toBe('known');
    expect(take(100_000, 4_000)).toBe('known');
    expect(take(10_000, 5_000)).toBe('sooner');
    expect(take(undefined, 6_000)).toBe('known');
    expect(known.take({ kind: 'rebalance', leftMs: undefined }, 6_000)).toBe('new');
  });
});
