/**
 * Azure Scheduled Events. The first question ever switches the service on for this machine and may take two minutes to be
 * answered. The list is that of a whole scale set, so the name of this machine is asked for as well; without it no event
 * can be told to be ours.
 */
import type { Clock } from '../clock.ts';
import { readAzureEvents } from '../lifecycle/spot-azure.ts';
import type { Lookout } from './lookout.ts';
import { askMetadata, unexpectedStatus } from './metadata-request.ts';

const EVENTS_PATH = 'metadata/scheduledevents?api-version=2020-07-01';
const NAME_PATH = 'metadata/instance/compute/name?api-version=2021-02-01&format=text';
const HEADERS = { Metadata: 'true' } as const;
const TIMEOUT_MS = 2_000;
const FIRST_TIMEOUT_MS = 125_000;

export function azureLookouts(base: URL, clock: Clock): readonly Lookout[] {
  const url = new URL(EVENTS_PATH, base);
  let machineName: string | undefined;
  let answered = false;
  return [
    {
      name: 'scheduledevents',
      look: async (signal) => {
        machineName ??= await askName(base, signal);
        const timeoutMs = answered ? TIMEOUT_MS : FIRST_TIMEOUT_MS;
        const { status, body, serverNowMs } = await askMetadata(url, { headers: HEADERS, timeoutMs }, signal);
        if (status !== 200) throw unexpectedStatus(url, status);
        answered = true;
        return readAzureEvents(body, machineName, serverNowMs ?? clock.wallMs());
      },
      acknowledge: async (eventId, signal) => {
        const headers = { ...HEADERS, 'Content-Type': 'application/json' };
        const body = JSON.stringify({ StartRequests: [{ EventId: eventId }] });
        const { status } = await askMetadata(url, { method: 'POST', headers, body, timeoutMs: TIMEOUT_MS }, signal);
        if (status < 200 || status > 299) throw unexpectedStatus(url, status);
      },
    },
  ];
}

async function askName(base: URL, signal: AbortSignal): Promise<string> {
  const url = new URL(NAME_PATH, base);
  const { status, body } = await askMetadata(url, { headers: HEADERS, timeoutMs: TIMEOUT_MS }, signal);
  const name = body.trim();
  if (status !== 200 || name === '') throw unexpectedStatus(url, status, ' without the name of this machine');
  return name;
}
