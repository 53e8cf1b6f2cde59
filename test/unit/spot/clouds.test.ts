/** The watchers against local metadata servers that keep the clouds' own rules. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { systemClock } from '../../../src/clock.ts';
import { azureLookouts } from '../../../src/spot/azure.ts';
import {
  type AwsServer,
  type AzureServer,
  azureEvent,
  type GcpServer,
  startAws,
  startAzure,
  startGcp,
} from '../../support/metadata/clouds.ts';
import { endWatches, until, watchAt } from './watching.ts';

afterEach(endWatches);

const TOKEN = '/latest/api/token';
const ACTION = '/latest/meta-data/spot/instance-action';
const inTwoMinutes = () => new Date(Date.now() + 120_000).toISOString();

describe('AWS', () => {
  let aws: AwsServer;
  beforeEach(async () => {
    aws = await startAws();
  });
  afterEach(() => aws.server.close());
  const watch = () => watchAt({ provider: 'aws', url: aws.server.url });

  it('asks for one token, and tells of the notice once with what it leaves', async () => {
    const watched = watch();
    await watched.watch.looked;
    await until('some rounds', () => aws.server.to(ACTION).length > 3);
    expect(watched.notices).toEqual([]);
    expect(watched.lines).toEqual([]);
    aws.instanceAction = JSON.stringify({ action: 'terminate', time: inTwoMinutes() });
    await until('a notice', () => watched.notices.length > 0);
    const asked = aws.server.to(ACTION).length;
    await until('more rounds', () => aws.server.to(ACTION).length > asked + 3);
    expect(watched.notices).toHaveLength(1);
    expect(watched.notices[0]).toMatchObject({ news: 'new', notice: { kind: 'interruption' } });
    expect(watched.notices[0]!.notice.leftMs).toBeGreaterThan(100_000);
    expect(watched.notices[0]!.notice.leftMs).toBeLessThanOrEqual(121_000);
    expect(aws.server.to(TOKEN)).toHaveLength(1);
  });

  it('a token that the server has forgotten is asked for anew at once', async () => {
    const watched = watch();
    await watched.watch.looked;
    aws.revoke();
    aws.instanceAction = JSON.stringify({ action: 'stop', time: inTwoMinutes() });
    await until('a notice', () => watched.notices.length > 0);
    expect(aws.tokens).toHaveLength(2);
    expect(watched.at('warn')).toEqual([]);
  });

  it('a token is renewed at half of its life', async () => {
    await aws.server.close();
    aws = await startAws(1);
    watch();
    await until('a third token', () => aws.tokens.length > 2);
  });

  it('a rebalance recommendation is a warning of its own kind', async () => {
    aws.rebalance = JSON.stringify({ noticeTime: new Date().toISOString() });
    const watched = watch();
    await watched.watch.looked;
    expect(watched.notices).toEqual([{ news: 'new', notice: { kind: 'rebalance', leftMs: undefined } }]);
  });

  it('a notice that is there from the start is known after the first look', async () => {
    aws.instanceAction = JSON.stringify({ action: 'terminate', time: inTwoMinutes() });
    const watched = watch();
    await watched.watch.looked;
    expect(watched.notices).toHaveLength(1);
  });

  it('no token to be had: says so once, with the hop limit as a reason to look at', async () => {
    aws.server.trouble = { status: 403 };
    const watched = watch();
    await watched.watch.looked;
    await until('some rounds', () => aws.server.asked.length > 5);
    // One for each of the two documents.
    expect(watched.at('warn')).toHaveLength(2);
    expect(String(watched.lines[0]!.fields.error)).toMatch(/answered 403; .*hop limit/);
  });
});

describe('GCP', () => {
  let gcp: GcpServer;
  const PATH = '/computeMetadata/v1/instance/preempted';
  beforeEach(async () => {
    gcp = await startGcp();
  });
  afterEach(() => gcp.server.close());

  it('leaves its question with the server until the value changes', async () => {
    const watched = watchAt({ provider: 'gcp', url: gcp.server.url });
    await watched.watch.looked;
    await until('a held question', () => gcp.server.to(PATH).length === 2);
    expect(gcp.server.to(PATH)[0]!.query.get('wait_for_change')).toBeNull();
    const held = gcp.server.to(PATH)[1]!.query;
    expect([held.get('wait_for_change'), held.get('timeout_sec')]).toEqual(['true', '60']);
    expect(held.get('last_etag')).not.toBeNull();
    expect(watched.notices).toEqual([]);
    gcp.set('preempted', 'TRUE');
    await until('a notice', () => watched.notices.length > 0);
    expect(watched.notices).toEqual([{ news: 'new', notice: { kind: 'interruption', leftMs: undefined } }]);
    expect(watched.lines).toEqual([]);
  });

  it('a maintenance that ends the machine is an early warning, one that moves it is none', async () => {
    gcp.set('maintenance-event', 'MIGRATE_ON_HOST_MAINTENANCE');
    const watched = watchAt({ provider: 'gcp', url: gcp.server.url });
    await watched.watch.looked;
    expect(watched.notices).toEqual([]);
    gcp.set('maintenance-event', 'TERMINATE_ON_HOST_MAINTENANCE');
    await until('a notice', () => watched.notices.length > 0);
    expect(watched.notices[0]!.notice.kind).toBe('maintenance');
  });

  it('a server that is not Google’s is not believed', async () => {
    gcp.server.trouble = { status: 200, body: 'TRUE' };
    const watched = watchAt({ provider: 'gcp', url: gcp.server.url });
    await watched.watch.looked;
    await until('some rounds', () => gcp.server.to(PATH).length > 3);
    expect(watched.notices).toEqual([]);
    expect(watched.at('warn')).toEqual(['a spot notice was not understood', 'a spot notice was not understood']);
  });
});

describe('Azure', () => {
  let azure: AzureServer;
  beforeEach(async () => {
    azure = await startAzure();
  });
  afterEach(() => azure.server.close());

  it('tells of its own eviction, not of a neighbour’s', async () => {
    azure.events = [azureEvent({ EventId: 'other', Resources: ['rag-batch_8'] })];
    const watched = watchAt({ provider: 'azure', url: azure.server.url });
    await watched.watch.looked;
    expect(watched.notices).toEqual([]);
    azure.events = [...azure.events, azureEvent({ EventId: 'ours' })];
    await until('a notice', () => watched.notices.length > 0);
    expect(watched.notices[0]!.notice).toMatchObject({ kind: 'interruption', eventId: 'ours' });
    expect(watched.notices[0]!.notice.leftMs).toBeLessThanOrEqual(31_000);
    expect(azure.started).toEqual([]);
  });

  it('acknowledges the event by its id', async () => {
    const [lookout] = azureLookouts(new URL(azure.server.url), systemClock);
    await lookout!.acknowledge!('E-1', AbortSignal.timeout(5_000));
    expect(azure.started).toEqual(['E-1']);
    azure.server.trouble = { status: 500 };
    await expect(lookout!.acknowledge!('E-1', AbortSignal.timeout(5_000))).rejects.toMatchObject({
      code: 'SPOT_METADATA_UNAVAILABLE',
    });
  });
});
