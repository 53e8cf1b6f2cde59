import { describe, expect, it } from 'vitest';
import { phases } from '../../../src/lifecycle/phase.ts';
import { bind } from '../../../src/ops/bind.ts';
import { CheckBoard, decideReadiness } from '../../../src/ops/readiness.ts';

describe('decideReadiness', () => {
  const passing = { name: 'kafka', state: 'pass', reason: undefined, sinceMs: 0 } as const;
  const failing = { name: 'model', state: 'fail', reason: 'not loaded', sinceMs: 0 } as const;
  for (const phase of phases) {
    it(`${phase} with every check passing is ${phase === 'running' ? '' : 'not '}ready`, () => {
      expect(decideReadiness({ phase, checks: [passing] }).statusCode).toBe(phase === 'running' ? 200 : 503);
    });
  }
  it('one failing check is enough to be not ready (M05)', () => {
    expect(decideReadiness({ phase: 'running', checks: [passing, failing] }).statusCode).toBe(503);
  });
  it('a check that cannot be made here is shown, and does not hold readiness back (M03)', () => {
    const unknown = { name: 'vram', state: 'unknown', reason: 'no GPU metrics', sinceMs: 0 } as const;
    const { statusCode, body } = decideReadiness({ phase: 'running', checks: [passing, unknown] });
    expect(statusCode).toBe(200);
    expect(body.checks[1]).toMatchObject({ state: 'unknown', ok: true, reason: 'no GPU metrics' });
  });
  it('nothing to check is not ready', () => {
    expect(decideReadiness({ phase: 'running', checks: [] }).statusCode).toBe(503);
  });
});

describe('CheckBoard', () => {
  it('begins not passing', () => {
    expect(new CheckBoard(['kafka'], 7).checks).toEqual([
      { name: 'kafka', state: 'fail', reason: 'not checked yet', sinceMs: 7 },
    ]);
  });
  it('keeps since when it has been so, through new reasons', () => {
    const board = new CheckBoard(['model'], 0);
    board.pass('model', 10);
    board.fail('model', 'out of memory', 20);
    board.fail('model', 'deadline', 30);
    expect(board.checks).toEqual([{ name: 'model', state: 'fail', reason: 'deadline', sinceMs: 20 }]);
    board.pass('model', 40);
    expect(board.checks).toEqual([{ name: 'model', state: 'pass', reason: undefined, sinceMs: 40 }]);
  });
});

/** A fake listener: a kernel without IPv6 cannot be had here. */
describe('bind (M10)', () => {
  function listener(refuse: Readonly<Record<string, string>>) {
    const tried: string[] = [];
    const listen = async ({ host }: { host: string; port: number }) => {
      tried.push(host);
      const code = refuse[host];
      if (code !== undefined) throw Object.assign(new Error(code), { code });
      return host;
    };
    return { tried, listen };
  }

  for (const host of ['0.0.0.0', '::']) {
    it(`${host} listens on both families`, async () => {
      const { tried, listen } = listener({});
      await bind(host, 8080, listen);
      expect(tried).toEqual(['::']);
    });
    it(`${host} falls back to IPv4 on a machine without IPv6`, async () => {
      const { tried, listen } = listener({ '::': 'EAFNOSUPPORT' });
      await bind(host, 8080, listen);
      expect(tried).toEqual(['::', '0.0.0.0']);
    });
  }
  it('a taken port is no reason to fall back', async () => {
    const { tried, listen } = listener({ '::': 'EADDRINUSE' });
    await expect(bind('0.0.0.0', 8080, listen)).rejects.toThrow('RAG_SERVING_SERVER_PORT');
    expect(tried).toEqual(['::']);
  });
  it('a given address is taken as it is', async () => {
    const { tried, listen } = listener({ '10.9.9.9': 'EADDRNOTAVAIL' });
    await expect(bind('10.9.9.9', 8080, listen)).rejects.toThrow('RAG_SERVING_SERVER_HOST');
    expect(tried).toEqual(['10.9.9.9']);
  });
  it('an unprivileged low port names the remedy', async () => {
    const { listen } = listener({ '127.0.0.1': 'EACCES' });
    await expect(bind('127.0.0.1', 80, listen)).rejects.toThrow('above 1023');
  });
});
