/** A worker that takes retries and never ends them: run as a process, to be killed. Arguments: Redis URL, topic. */
import { openQueue } from './open-queue.ts';

const [url = '', topic = ''] = process.argv.slice(2);
const queue = openQueue(topic, { url, lockMs: 2_000 });
await queue.start(({ raw }) => {
  process.stdout.write(`${raw.source.offset}\n`);
  return new Promise(() => undefined);
});
