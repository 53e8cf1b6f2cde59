/** A name server of our own on a free UDP port of 127.0.0.1: answers A questions with what it is told to, and can be silent. */
import { createSocket } from 'node:dgram';

export type DnsServer = {
  /** `127.0.0.1:port`, as a target takes it: `dns://<this>/name:port`. */
  readonly address: string;
  /** IPv4 addresses of every name; none is "no such name". Silent: no answer at all. */
  answer(addresses: readonly string[] | 'silent'): void;
  /** Questions for IPv4 addresses so far. */
  readonly questions: number;
  close(): Promise<void>;
};

const TYPE_A = 1;

export async function startDnsServer(initially: readonly string[]): Promise<DnsServer> {
  let current: readonly string[] | 'silent' = initially;
  let questions = 0;
  const socket = createSocket('udp4');
  socket.on('message', (question, from) => {
    const isA = typeOf(question) === TYPE_A;
    if (isA) questions++;
    if (current === 'silent') return;
    socket.send(reply(question, isA ? current : [], current.length === 0), from.port, from.address);
  });
  await new Promise<void>((resolve, reject) => {
    socket.once('error', reject);
    socket.bind(0, '127.0.0.1', resolve);
  });
  return {
    address: `127.0.0.1:${socket.address().port}`,
    answer: (addresses) => {
      current = addresses;
    },
    get questions() {
      return questions;
    },
    close: () => new Promise((resolve) => socket.close(() => resolve())),
  };
}

/** Past the 12 bytes of the header stands the name, label by label, up to an empty one. */
function endOfName(question: Buffer): number {
  let at = 12;
  while (question[at] !== 0) at += question[at]! + 1;
  return at + 1;
}

function typeOf(question: Buffer): number {
  return question.readUInt16BE(endOfName(question));
}

function reply(question: Buffer, addresses: readonly string[], noSuchName: boolean): Buffer {
  const asked = question.subarray(12, endOfName(question) + 4);
  const header = Buffer.alloc(12);
  question.copy(header, 0, 0, 2);
  header.writeUInt16BE(0x8180 + (noSuchName ? 3 : 0), 2);
  header.writeUInt16BE(1, 4);
  header.writeUInt16BE(addresses.length, 6);
  const records = addresses.map((address) => {
    // The name by a pointer to the question, type A, class IN, no time to live, four bytes.
    const fixed = Buffer.from([0xc0, 12, 0, TYPE_A, 0, 1, 0, 0, 0, 0, 0, 4]);
    return Buffer.concat([fixed, Buffer.from(address.split('.').map(Number))]);
  });
  return Buffer.concat([header, asked, ...records]);
}
