/**
 * Times calls and writes what it has seen. Open loop: each call begins when the pacer's stamp arrives on standard input and
 * its time counts from the stamp, so that a client which falls behind is not spared. Closed loop: so many callers, each
 * with its next call at once.
 */
import { writeFileSync } from 'node:fs';

const nowNs = () => Number(process.hrtime.bigint());
const STAMP_BYTES = 8;

/** A query of ordinary length, another one each time. */
export function queryOf(index) {
  return `how do I rotate the signing keys of cluster number ${index} safely`;
}

const SENTENCE = 'Young apple trees need water once or twice a week in their first summer, more on sandy soil. ';

/** 10 to 30 passages of about 700 bytes. */
export function candidatesOf(index) {
  const count = 10 + ((index * 7) % 21);
  return Array.from({ length: count }, (_, at) => ({ id: `c${at}`, text: `${index}-${at} ${SENTENCE.repeat(7)}` }));
}

/**
 * `call(index)` gives the name of what was called, when it has ended well; a rejection is counted under its code.
 * Says `ready` when the pacer may begin. Writes the raw times, in microseconds, as 32-bit integers to one file for each name.
 */
export async function measure({ mode, seconds, callers, out, warmUp = 100 }, call) {
  const times = new Map();
  const errors = {};
  const one = async (index, fromNs) => {
    let name = 'failed';
    try {
      name = await call(index);
    } catch (error) {
      const code = String(error?.code ?? error?.name);
      errors[code] = (errors[code] ?? 0) + 1;
    }
    const list = times.get(name) ?? [];
    if (list.length === 0) times.set(name, list);
    list.push((nowNs() - fromNs) / 1_000);
  };
  for (let index = 0; index < warmUp; index++) await call(index);
  process.stdout.write('ready\n');
  const { cpu, elapsedS } = mode === 'open' ? await open(one) : await closed(one, seconds, callers);
  let calls = 0;
  for (const [name, list] of times) {
    calls += list.length;
    writeFileSync(`${out}.${name}`, Uint32Array.from(list, Math.round));
  }
  const cpuUs = cpu.user + cpu.system;
  const maxRssMb = Math.round(process.resourceUsage().maxRSS / 1024);
  const told = { calls, errors, names: [...times.keys()], elapsedS, cpuUs, maxRssMb };
  process.stdout.write(`${JSON.stringify(told)}\n`);
}

async function open(one) {
  const running = [];
  let startedNs = 0;
  let before = process.cpuUsage();
  let sent = 0;
  let rest = Buffer.alloc(0);
  for await (const chunk of process.stdin) {
    if (startedNs === 0) {
      startedNs = nowNs();
      before = process.cpuUsage();
    }
    const bytes = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
    const whole = bytes.length - (bytes.length % STAMP_BYTES);
    for (let at = 0; at < whole; at += STAMP_BYTES) running.push(one(sent++, Number(bytes.readBigUInt64LE(at))));
    rest = bytes.subarray(whole);
    // What has ended is let go now and then, or the list itself would be a leak.
    if (running.length > 10_000) await Promise.all(running.splice(0, 5_000));
  }
  await Promise.all(running);
  return { cpu: process.cpuUsage(before), elapsedS: (nowNs() - startedNs) / 1e9 };
}

async function closed(one, seconds, callers) {
  const startedNs = nowNs();
  const before = process.cpuUsage();
  const endNs = startedNs + seconds * 1e9;
  let sent = 0;
  const caller = async () => {
    for (let at = nowNs(); at < endNs; at = nowNs()) await one(sent++, at);
  };
  await Promise.all(Array.from({ length: callers }, caller));
  return { cpu: process.cpuUsage(before), elapsedS: (nowNs() - startedNs) / 1e9 };
}
