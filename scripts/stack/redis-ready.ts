/** Whether a Redis answers: PING over a plain socket, so that no client library's retries hide what the server says. */
import { connect } from 'node:net';

const ANSWER_TIMEOUT_MS = 2_000;

/** Throws as long as it does not answer PONG: refused, still loading its data, or the wrong password. */
export function pingRedis(port: number, password: string | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host: '127.0.0.1' });
    const fail = (reason: Error) => {
      socket.destroy();
      reject(reason);
    };
    let answer = '';
    socket.setTimeout(ANSWER_TIMEOUT_MS, () => fail(new Error('no answer to PING')));
    socket.once('error', fail);
    socket.setEncoding('utf8').on('data', (text) => {
      answer += text;
      if (answer.includes('+PONG\r\n')) {
        socket.destroy();
        resolve();
      } else if (answer.startsWith('-')) fail(new Error(answer.trim()));
    });
    socket.write(password === undefined ? 'PING\r\n' : `AUTH ${password}\r\nPING\r\n`);
  });
}
