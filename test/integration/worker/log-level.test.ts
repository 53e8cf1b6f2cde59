/** SIGUSR2 to a running worker, sidecar and engine: DEBUG and back, and it ends none of them. */
import { afterEach, describe, expect, it } from 'vitest';
import { startSidecar } from '../ops/sidecar.ts';
import { endPrograms, eventually, startEngine, startWorker } from './harness.ts';

afterEach(endPrograms);

describe('SIGUSR2', () => {
  it('switches a worker to DEBUG and back to its level, with work going on', async () => {
    const { target } = await startEngine();
    const { program } = await startWorker({
      // A broker that is not there gives it something to say.
      KAFKA_BOOTSTRAP_SERVERS: '127.0.0.1:1',
      RAG_SERVING_SINK: 'memory',
      RAG_SERVING_BATCH_INGEST_GRPC_URL: target,
    });
    const debugLines = () => program.lines.filter(({ level }) => level === 'DEBUG').length;
    await program.line(({ msg }) => msg === 'store is open');
    expect(debugLines()).toBe(0);
    process.kill(program.pid, 'SIGUSR2');
    await program.line(({ event, to }) => event === 'log-level-changed' && to === 'DEBUG');
    await eventually('DEBUG lines', () => debugLines() > 0);
    process.kill(program.pid, 'SIGUSR2');
    await program.line(({ event, to }) => event === 'log-level-changed' && to === 'INFO');
    expect((await program.stop()).code).toBe(0);
    const levels = program.lines.slice(program.lines.findLastIndex(({ to }) => to === 'INFO'));
    expect(levels.length).toBeGreaterThan(3);
    expect(levels.filter(({ level }) => level === 'DEBUG')).toEqual([]);
  });

  it('switches a sidecar', async () => {
    const { program } = await startSidecar({ RAG_SERVING_TRITON_GRPC_URL: '127.0.0.1:1' });
    process.kill(program.pid, 'SIGUSR2');
    await program.line(({ event, to }) => event === 'log-level-changed' && to === 'DEBUG');
    process.kill(program.pid, 'SIGUSR2');
    await program.line(({ event, to }) => event === 'log-level-changed' && to === 'INFO');
    expect((await program.stop()).code).toBe(0);
  });

  it('switches an engine, and an early one does not end it', async () => {
    const { program } = await startEngine();
    expect(program.lines.filter(({ level }) => level === 'DEBUG')).toEqual([]);
    process.kill(program.pid, 'SIGUSR2');
    await eventually('DEBUG', () => program.output.includes('"to":"DEBUG"'));
    process.kill(program.pid, 'SIGUSR2');
    await eventually('INFO', () => program.output.includes('"to":"INFO"'));
    expect(await program.stop()).toEqual({ code: 0, signal: null });
  });
});
