import { describe, expect, it } from 'vitest';
import { errorCodes, ServingError } from '../../../src/errors.ts';
import { commands, runCommandLine } from '../../../workers/command-line.ts';
import { exitCodeOf } from '../../../workers/exit-codes.ts';
import { printError } from '../../../workers/print-error.ts';

async function run(args: readonly string[], env: Record<string, string> = {}) {
  let stdout = '';
  let stderr = '';
  const code = await runCommandLine({
    args,
    env,
    version: '9.8.7',
    stdout: { write: (text) => (stdout += text) },
    stderr: { write: (text) => (stderr += text) },
  });
  return { code, stdout, stderr };
}

describe('the command line', () => {
  it('--help lists every command and the exit codes', async () => {
    const { code, stdout } = await run(['--help']);
    expect(code).toBe(0);
    for (const { name } of commands) expect(stdout).toMatch(new RegExp(`^  ${name} `, 'm'));
    expect(stdout).toMatch(/Exit codes: 0 done.*1 failed.*2 wrong usage.*\n3 stopped/);
  });
  it('--version prints the version', async () => {
    expect(await run(['--version'])).toEqual({ code: 0, stdout: '9.8.7\n', stderr: '' });
  });
  for (const name of ['worker', 'ops', 'produce', 'dlq', 'retries']) {
    for (const args of [
      [name, '--help'],
      ['help', name],
    ]) {
      it(`${args.join(' ')} answers with exit code 0`, async () => {
        const { code, stdout } = await run(args);
        expect(code).toBe(0);
        expect(stdout).toContain(`Usage: rag-serving ${name}`);
        expect(stdout).toContain('Exit codes:');
      });
    }
  }

  const wrong: [name: string, args: string[], says: RegExp][] = [
    ['nothing', [], /Usage: rag-serving/],
    ['an unknown command', ['prodcue', 'x'], /unknown command 'prodcue'\n\(Did you mean produce\?\)/],
    ['an unknown option', ['produce', 'x', '--tpoic', 'y'], /unknown option '--tpoic'/],
    ['a missing path', ['produce'], /missing required argument 'path'/],
    ['a bad number', ['produce', 'x', '--limit', '1e3'], /Expected a whole number/],
    ['a path that is not there', ['produce', 'no-such-file.md', '--dry-run'], /no such file/],
    ['a wrong topic', ['produce', 'x', '--topic', 'a b', '--dry-run'], /KAFKA_TOPIC got/],
    ['no brokers', ['produce', 'README.md'], /KAFKA_BOOTSTRAP_SERVERS is unset/],
    ['dlq without a broker', ['dlq', 'list'], /KAFKA_BOOTSTRAP_SERVERS is unset/],
    ['dlq without a command', ['dlq'], /Usage: rag-serving dlq/],
    ['a code that is none', ['dlq', 'list', '--code', 'CHUNK_INVALD'], /Give codes such as/],
    ['a time that is none', ['dlq', 'list', '--since', 'yesterday'], /Give a time: 45s, 30m/],
    ['a span that is none', ['dlq', 'list', '--offset', '9..7'], /Give an offset or a span/],
    ['a letter that is none', ['dlq', 'show', '17'], /Give partition and offset/],
    ['a topic that is none', ['dlq', 'replay', '--to-topic', 'a b'], /Give a topic name/],
    ['a purge that Kafka cannot do', ['dlq', 'purge', '--document', 'd', '--yes'], /--document cannot choose/],
    ['retries without a Redis', ['retries', 'list'], /RAG_SERVING_RETRY_REDIS_URL is unset/],
  ];
  for (const [name, args, says] of wrong) {
    it(`${name} is exit code 2 and says so`, async () => {
      const { code, stdout, stderr } = await run(args);
      expect(code).toBe(2);
      expect(stderr).toMatch(says);
      expect(stdout).toBe('');
    });
  }

  it('wrong settings are all told, without stack and without secrets (M09)', async () => {
    const env = { KAFKA_SASL_PASSWORD: 'pw-SENTINEL', RAG_SERVING_LOG_LEVEL: 'loud', KAFKA_TLS_ENABLED: 'tru' };
    const { code, stderr } = await run(['produce', 'README.md'], env);
    expect(code).toBe(2);
    for (const name of [
      'RAG_SERVING_LOG_LEVEL',
      'KAFKA_TLS_ENABLED',
      'KAFKA_BOOTSTRAP_SERVERS',
      'KAFKA_SASL_USERNAME',
    ]) {
      expect(stderr).toContain(`- ${name} `);
    }
    expect(stderr).not.toContain('SENTINEL');
    expect(stderr).not.toMatch(/^\s+at /m);
  });
});

describe('exitCodeOf', () => {
  for (const code of errorCodes) {
    const expected = { CONFIG_INVALID: 2, ARGUMENT_INVALID: 2, DRAIN_TIMEOUT: 3 }[code as string] ?? 1;
    it(`${code} is ${expected}`, () => expect(exitCodeOf(new ServingError(code, 'x'))).toBe(expected));
  }
  it('anything else is 1', () => expect([exitCodeOf(new TypeError('x')), exitCodeOf('x')]).toEqual([1, 1]));
});

describe('printError', () => {
  const printed = (error: unknown, env: Record<string, string> = {}) => {
    let text = '';
    printError(error, env, { write: (part) => (text += part) });
    return text;
  };
  const env = {
    KAFKA_SASL_PASSWORD: 'pw-SENTINEL',
    RAG_SERVING_REDIS_URL: 'redis://u:redis-SENTINEL@h',
    RAG_SERVING_API_KEY: 'key-SENTINEL',
  };

  it('tells the causes, without the secrets of the environment', () => {
    const cause = new Error('login with pw-SENTINEL at redis://u:redis-SENTINEL@h and key-SENTINEL refused');
    const text = printed(new ServingError('KAFKA_ACCESS_DENIED', 'cannot write', { cause }), env);
    expect(text).toMatch(/^rag-serving: KAFKA_ACCESS_DENIED: cannot write\n {2}caused by: Error: login with/);
    expect(text).not.toContain('SENTINEL');
  });
  it('shows the stack only at DEBUG, and no secret there either', () => {
    const error = new Error('pw-SENTINEL');
    expect(printed(error, env)).not.toContain('command-line.test.ts');
    const text = printed(error, { ...env, RAG_SERVING_LOG_LEVEL: 'debug' });
    expect(text).toContain('command-line.test.ts');
    expect(text).not.toContain('SENTINEL');
  });
  it('says of a thrown text only that it was one', () => {
    expect(printed('SENTINEL')).toBe('rag-serving: a string was thrown\n');
  });
  it('shows a long list of problems whole', () => {
    const lines = Array.from({ length: 80 }, (_, index) => `- SETTING_${index} got 3 characters that are no integer`);
    expect(printed(new ServingError('CONFIG_INVALID', lines.join('\n')))).toContain('SETTING_79');
  });
  it('ends in a cycle of causes', () => {
    const error = new Error('a');
    error.cause = error;
    expect(printed(error).split('\n').length).toBeLessThan(10);
  });
});
