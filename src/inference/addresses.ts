/**
 * All addresses of a name. Where the machine's own resolver is asked, hosts file and search domains count, as they do for
 * every other program; a name server given in the target is asked directly.
 *
 * The machine's resolver (getaddrinfo) cannot be cancelled and holds a thread of Node's pool: NameWatch never has two
 * questions for one name under way.
 */
import { lookup, Resolver } from 'node:dns/promises';

/** Rejects when there is no answer. */
export type AddressLookup = (host: string) => Promise<readonly string[]>;

const ASK_TIMEOUT_MS = 2_000;
const TRIES = 2;

export const machineLookup: AddressLookup = async (host) => {
  const found = await lookup(host, { all: true });
  return found.map(({ address }) => address);
};

/** `server`: address and port of a name server, `10.0.0.10` or `10.0.0.10:5353`. */
export function lookupAt(server: string): AddressLookup {
  const resolver = new Resolver({ timeout: ASK_TIMEOUT_MS, tries: TRIES });
  resolver.setServers([server]);
  return async (host) => {
    const answers = await Promise.allSettled([resolver.resolve4(host), resolver.resolve6(host)]);
    const found = answers.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []));
    if (found.length > 0) return found;
    throw (answers[0] as PromiseRejectedResult).reason;
  };
}
