/** The lookouts of each provider, and where its metadata server is: the link-local address, whatever the DNS says. */
import type { Clock } from '../clock.ts';
import type { SpotProvider } from '../lifecycle/spot-notice.ts';
import { awsLookouts } from './aws.ts';
import { azureLookouts } from './azure.ts';
import { gcpLookouts } from './gcp.ts';
import { fileLookouts, urlLookouts } from './hook.ts';
import type { Lookout } from './lookout.ts';

export type SpotPlace =
  /** `url` takes the place of the link-local address. */
  | { readonly provider: Exclude<SpotProvider, 'file' | 'url'>; readonly url: string | undefined }
  | { readonly provider: 'url'; readonly url: string }
  | { readonly provider: 'file'; readonly path: string };

const LINK_LOCAL = 'http://169.254.169.254/';

export function spotLookouts(place: SpotPlace, clock: Clock): readonly Lookout[] {
  switch (place.provider) {
    case 'aws':
      return awsLookouts(baseOf(place.url), clock);
    case 'gcp':
      return gcpLookouts(baseOf(place.url));
    case 'azure':
      return azureLookouts(baseOf(place.url), clock);
    case 'url':
      return urlLookouts(new URL(place.url), clock);
    case 'file':
      return fileLookouts(place.path, clock);
  }
}

function baseOf(url: string | undefined): URL {
  const base = url ?? LINK_LOCAL;
  // Without the slash, a relative path would take the place of the last part of the base's.
  return new URL(base.endsWith('/') ? base : `${base}/`);
}
