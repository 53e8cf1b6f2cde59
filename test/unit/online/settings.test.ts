import { describe, expect, it } from 'vitest';
import { readSettings } from '../../../online/settings.ts';
import { machine as machineLike } from '../config/machine.ts';

const machine = machineLike();

function problemsOf(settings: object): string {
  try {
    readSettings(settings, machine);
  } catch (error) {
    expect(error).toMatchObject({ code: 'CONFIG_INVALID' });
    return (error as Error).message;
  }
  return '';
}

describe('readSettings', () => {
  it('has the defaults of the design', () => {
    expect(readSettings({}, machine)).toMatchObject({
      embed: { endpoints: ['localhost:8001'], model: 'online_embedder_ensemble', timeoutMs: 15, transport: 'stream' },
      rerank: { endpoints: ['localhost:8001'], model: 'online_reranker_ensemble', timeoutMs: 35, connections: 2 },
      searchTimeoutMs: 40,
      tls: undefined,
    });
  });

  it('an environment and options that say the same are the same', () => {
    const env = {
      PATH: '/bin',
      RAG_SERVING_ONLINE_EMBED_GRPC_URL: 'a:1, dns:///b:2',
      RAG_SERVING_ONLINE_RERANK_MODEL: 'off',
      RAG_SERVING_ONLINE_EMBED_TIMEOUT_MS: '20',
      RAG_SERVING_ONLINE_TRANSPORT: 'unary',
    };
    const options = {
      embed: { endpoints: 'a:1, dns:///b:2', timeoutMs: 20, transport: 'unary' },
      rerank: false,
    } as const;
    const [fromEnv, fromOptions] = [readSettings(env, machine), readSettings(options, machine)];
    expect(fromEnv.embed.endpoints.map((one) => one.trim())).toEqual(
      fromOptions.embed.endpoints.map((one) => one.trim()),
    );
    expect({ ...fromEnv, embed: { ...fromEnv.embed, endpoints: [] } }).toEqual({
      ...fromOptions,
      embed: { ...fromOptions.embed, endpoints: [] },
    });
  });

  it('tells every problem at once, by its name', () => {
    const message = problemsOf({
      embed: { endpoints: 'http://a:1', maxInFlight: 0, timeout: 3 },
      rerank: { endpoints: [], timeoutMs: Number.NaN, transport: 'pigeon' },
      searchTimeoutMs: -1,
    });
    for (const name of [
      'embed.endpoints',
      'embed.maxInFlight',
      'embed.timeout ',
      'rerank.endpoints',
      'rerank.timeoutMs',
      'rerank.transport',
      'searchTimeoutMs',
    ]) {
      expect(message).toContain(name);
    }
  });

  it('an unknown option is refused, not taken for an environment', () => {
    expect(problemsOf({ embedder: {} })).toContain('embedder');
  });

  it('certificates that are missing, empty or no PEM are told with their path before anything connects (F05)', () => {
    const readFile = (path: string) => {
      if (path === '/empty.pem') return '';
      if (path === '/text.pem') return 'hello';
      throw Object.assign(new Error('no'), { code: 'ENOENT' });
    };
    for (const [caPath, says] of [
      ['/none.pem', 'does not exist'],
      ['/empty.pem', 'empty file'],
      ['/text.pem', 'without a PEM certificate'],
    ] as const) {
      const read = () => readSettings({ tls: { caPath } }, { ...machine, readFile });
      expect(read).toThrow(says);
      expect(read).toThrow(caPath);
    }
    expect(() => readSettings({ tls: { certPath: '/text.pem' } }, { ...machine, readFile })).toThrow('both or none');
  });
});
