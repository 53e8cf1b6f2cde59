/** Metadata servers that keep the rules of the clouds': paths, headers, status codes, tokens, questions that are held. */
import { type Answer, type Asked, type LocalServer, startLocalServer } from './local-server.ts';

export type AwsServer = {
  readonly server: LocalServer;
  /** Undefined answers 404. */
  instanceAction: string | undefined;
  rebalance: string | undefined;
  /** Tokens given so far; all but the last are refused after `revoke`. */
  readonly tokens: string[];
  revoke(): void;
};

/** IMDSv2: PUT /latest/api/token with a TTL, then that token with each question, else 401. */
export async function startAws(ttlSeconds?: number): Promise<AwsServer> {
  const tokens: string[] = [];
  let valid = new Set<string>();
  const answer = ({ method, path, headers }: Asked): Answer => {
    if (path === '/latest/api/token') {
      const ttl = Number(headers['x-aws-ec2-metadata-token-ttl-seconds']);
      if (method !== 'PUT') return { status: 405 };
      if (headers['x-forwarded-for'] !== undefined) return { status: 403 };
      if (!(ttl >= 1 && ttl <= 21_600)) return { status: 400 };
      const token = `AQAEAL${tokens.length}==`;
      tokens.push(token);
      valid.add(token);
      const granted = { 'X-aws-ec2-metadata-token-ttl-seconds': String(ttlSeconds ?? ttl) };
      return { status: 200, body: token, headers: granted };
    }
    if (!valid.has(String(headers['x-aws-ec2-metadata-token']))) return { status: 401 };
    const documents: Record<string, string | undefined> = {
      '/latest/meta-data/spot/instance-action': aws.instanceAction,
      '/latest/meta-data/events/recommendations/rebalance': aws.rebalance,
    };
    const body = documents[path];
    return body === undefined ? { status: 404 } : { status: 200, body };
  };
  const server = await startLocalServer(answer);
  const aws: AwsServer = {
    server,
    instanceAction: undefined,
    rebalance: undefined,
    tokens,
    revoke: () => {
      valid = new Set();
    },
  };
  return aws;
}

export type GcpKey = 'preempted' | 'maintenance-event';
export type GcpServer = { readonly server: LocalServer; set(key: GcpKey, value: string): void };

/** `Metadata-Flavor: Google` or 403; an etag with each value; with wait_for_change the answer comes on a change. */
export async function startGcp(): Promise<GcpServer> {
  const values = new Map<string, string>([
    ['preempted', 'FALSE'],
    ['maintenance-event', 'NONE'],
  ]);
  const waiting = new Map<string, (() => void)[]>();
  const etagOf = (value: string) => Buffer.from(value).toString('hex').slice(0, 16);
  const server = await startLocalServer(async ({ path, query, headers }) => {
    if (headers['metadata-flavor'] !== 'Google') return { status: 403 };
    const key = path.replace('/computeMetadata/v1/instance/', '');
    if (!values.has(key)) return { status: 404, headers: { 'Metadata-Flavor': 'Google' } };
    const seen = query.get('last_etag');
    const isNews = seen !== null && seen !== etagOf(values.get(key)!);
    if (query.get('wait_for_change') === 'true' && !isNews) {
      await new Promise<void>((resolve) => waiting.set(key, [...(waiting.get(key) ?? []), resolve]));
    }
    const value = values.get(key)!;
    return { status: 200, body: value, headers: { 'Metadata-Flavor': 'Google', ETag: etagOf(value) } };
  });
  return {
    server,
    set: (key, value) => {
      values.set(key, value);
      for (const resolve of waiting.get(key) ?? []) resolve();
      waiting.delete(key);
    },
  };
}

export type AzureServer = {
  readonly server: LocalServer;
  events: readonly Readonly<Record<string, unknown>>[];
  readonly started: string[];
};

export const AZURE_NAME = 'rag-batch_7';

/** `Metadata: true` or 400, a known api-version or 400; POST with StartRequests starts an event. */
export async function startAzure(): Promise<AzureServer> {
  const started: string[] = [];
  const server = await startLocalServer(({ method, path, query, headers, body }) => {
    if (headers.metadata !== 'true' || !/^20\d\d-\d\d-\d\d$/.test(query.get('api-version') ?? ''))
      return { status: 400 };
    if (path === '/metadata/instance/compute/name') return { status: 200, body: AZURE_NAME };
    if (path !== '/metadata/scheduledevents') return { status: 404 };
    if (method === 'POST') {
      const requests = (JSON.parse(body) as { StartRequests: { EventId: string }[] }).StartRequests;
      started.push(...requests.map(({ EventId }) => EventId));
      return { status: 200 };
    }
    return { status: 200, body: JSON.stringify({ DocumentIncarnation: azure.events.length, Events: azure.events }) };
  });
  const azure: AzureServer = { server, events: [], started };
  return azure;
}

/** As the documentation shows it, about this machine unless told otherwise. */
export function azureEvent(more: Readonly<Record<string, unknown>> = {}): Readonly<Record<string, unknown>> {
  return {
    EventId: 'f020ba2e-3bc0-4c40-a10b-86575a9eabd5',
    EventStatus: 'Scheduled',
    EventType: 'Preempt',
    ResourceType: 'VirtualMachine',
    Resources: [AZURE_NAME],
    NotBefore: new Date(Date.now() + 30_000).toUTCString(),
    Description: '',
    EventSource: 'Platform',
    DurationInSeconds: -1,
    ...more,
  };
}
