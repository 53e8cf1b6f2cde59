/** Where a notice that this machine will be taken away shows up, and what is done about it. */
import { url } from '../address-types.ts';
import type { EnvReader } from '../env-reader.ts';
import { path } from '../file-types.ts';
import { boolean, choice, integer } from '../leaf-types.ts';
import { always, unset } from '../setting.ts';

export const spotSettings = {
  provider: choice('RAG_SERVING_SPOT_PROVIDER', ['none', 'aws', 'gcp', 'azure', 'file', 'url'], always('none'), {
    doc: 'Cloud whose notice of a vanishing spot machine starts a drain; or a hook of your own: file (RAG_SERVING_SPOT_FILE appears), url (RAG_SERVING_SPOT_URL answers 200).',
  }),
  url: url('RAG_SERVING_SPOT_URL', unset, ['http', 'https'], {
    doc: 'With aws, gcp or azure the base address of the metadata server; with url the address that is polled: 200 is a notice, 404 and 204 are none. Never asked through a proxy.',
    defaultNote: 'http://169.254.169.254 for the clouds',
  }),
  file: path('RAG_SERVING_SPOT_FILE', unset, {
    doc: 'With the provider file: the file that is a notice once it exists. It may hold JSON: {"deadline":"2030-01-01T00:00:00Z"} or {"left_ms":30000}.',
  }),
  noticeMs: integer(
    'RAG_SERVING_SPOT_NOTICE_MS',
    unset,
    { min: 1_000, max: 3_600_000 },
    {
      doc: 'Milliseconds from a notice to the end of the machine, where the notice does not say.',
      defaultNote: 'aws 120000, azure 30000, gcp 15000 (what GKE leaves a pod of the 30 s); hooks: as after SIGTERM',
    },
  ),
  marginMs: integer(
    'RAG_SERVING_SPOT_MARGIN_MS',
    always(2_000),
    { min: 0, max: 60_000 },
    { doc: 'Milliseconds before the end of the machine at which a drain is to be over.' },
  ),
  pollMs: integer(
    'RAG_SERVING_SPOT_POLL_MS',
    always(1_000),
    { min: 50, max: 60_000 },
    { doc: 'Milliseconds between two looks. A question that GCP holds until something changes counts as one look.' },
  ),
  earlyWarning: choice('RAG_SERVING_SPOT_EARLY_WARNING', ['ignore', 'drain'], always('ignore'), {
    doc: 'What is done about a warning that the machine may go, some time: rebalance recommendation of AWS, maintenance that ends the machine (GCP, Azure). drain only where something replaces the node then; else the worker stops again and again on a machine that lives on.',
  }),
  acknowledge: boolean('RAG_SERVING_SPOT_ACKNOWLEDGE', false, {
    doc: 'Azure: tell it after the drain that the machine may go at once. Only where the machine is all ours.',
  }),
} as const;

export type SpotConfig =
  | { readonly provider: 'none' }
  | ({
      /** Until the end, for a notice that does not say; undefined counts as no limit of its own. */
      readonly noticeMs: number | undefined;
      readonly marginMs: number;
      readonly pollMs: number;
      readonly earlyWarning: 'ignore' | 'drain';
      readonly acknowledge: boolean;
    } & (
      | { readonly provider: 'aws' | 'gcp' | 'azure'; readonly url: string | undefined }
      | { readonly provider: 'url'; readonly url: string }
      | { readonly provider: 'file'; readonly path: string }
    ));

const NOTICE_MS = { aws: 120_000, gcp: 15_000, azure: 30_000, file: undefined, url: undefined } as const;

export function readSpot(read: EnvReader): SpotConfig {
  const all = spotSettings;
  const { provider, url, file, ...value } = read.section(all);
  read.rule(
    provider !== 'file' || file !== undefined,
    [all.file, all.provider],
    `is unset while ${all.provider.name} is file; set the path of the file`,
  );
  read.rule(
    provider !== 'url' || url !== undefined,
    [all.url, all.provider],
    `is unset while ${all.provider.name} is url; set the address to poll`,
  );
  if (provider === 'none') return { provider };
  const common = { ...value, noticeMs: value.noticeMs ?? NOTICE_MS[provider] };
  if (provider === 'file') return { ...common, provider, path: file ?? '' };
  if (provider === 'url') return { ...common, provider, url: url ?? '' };
  return { ...common, provider, url };
}
