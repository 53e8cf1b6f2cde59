import { setImmediate as turn } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import type { Budget } from '../../../online/budget.ts';
import { type Asked, Coalescer } from '../../../online/coalescer.ts';
import { isServingError, ServingError } from '../../../src/errors.ts';

type Request = {
  readonly texts: readonly string[];
  readonly budget: Budget;
  readonly answer: () => void;
  readonly fail: (error: unknown) => void;
};

const DEADLINE_MS = 1_000;
const budget = (more: Partial<Budget> = {}): Budget => ({
  deadlineMs: DEADLINE_MS,
  signal: undefined,
  traceparent: undefined,
  ...more,
});

/** A vector that tells whose it is: the number in the text. */
const vectorOf = (text: string) => Float32Array.of(Number(text));

function setUp(most = 32) {
  const requests: Request[] = [];
  const coalescer = new Coalescer<string>({
    most: () => most,
    ask: (texts, of) =>
      new Promise<Asked<string>>((resolve, reject) => {
        const answer = () => resolve({ contract: 'model', rows: texts.map(vectorOf) });
        requests.push({ texts, budget: of, answer, fail: reject });
      }),
  });
  return { requests, ask: (text: string, of = budget()) => coalescer.ask(text, of) };
}

const textsOf = (requests: readonly Request[]) => requests.map(({ texts }) => texts);
const rows = (asked: readonly Asked<string>[]) => asked.map(({ rows: [row] }) => row);
const code = (call: Promise<unknown>) =>
  call.then(
    () => 'ok',
    (error) => (isServingError(error) ? error.code : error),
  );

describe('queries of one turn', () => {
  it('travel as one request, and each gets its own row', async () => {
    const { requests, ask } = setUp();
    const calls = [ask('1'), ask('2'), ask('3')];
    await turn();
    expect(textsOf(requests)).toEqual([['1', '2', '3']]);
    requests[0]!.answer();
    expect(rows(await Promise.all(calls))).toEqual(['1', '2', '3'].map(vectorOf));
  });

  it('one of the next turn does not wait for the answer of this one', async () => {
    const { requests, ask } = setUp();
    void ask('1');
    await turn();
    void ask('2');
    await turn();
    expect(textsOf(requests)).toEqual([['1'], ['2']]);
  });

  it('more than the model takes are several requests, the first at once', async () => {
    const { requests, ask } = setUp(2);
    for (let index = 0; index < 5; index++) void ask(String(index));
    expect(textsOf(requests)).toEqual([
      ['0', '1'],
      ['2', '3'],
    ]);
    await turn();
    expect(textsOf(requests)).toEqual([['0', '1'], ['2', '3'], ['4']]);
  });

  it('deadlines that lie apart are not put together; those that do end with the earliest', async () => {
    const { requests, ask } = setUp();
    void ask('1', budget({ deadlineMs: 1_000.4 }));
    void ask('2', budget({ deadlineMs: 1_000 }));
    void ask('3', budget({ deadlineMs: 1_030 }));
    await turn();
    expect(requests.map(({ texts, budget: { deadlineMs } }) => [texts, deadlineMs])).toEqual([
      [['1', '2'], 1_000],
      [['3'], 1_030],
    ]);
  });
});

describe('what belongs to one query stays its own', () => {
  it('a caller that gives up ends its own call; the request ends when all have', async () => {
    const { requests, ask } = setUp();
    const first = new AbortController();
    const second = new AbortController();
    const calls = [ask('1', budget({ signal: first.signal })), ask('2', budget({ signal: second.signal }))].map(code);
    await turn();
    first.abort();
    expect(await calls[0]).toBe('INFERENCE_CANCELLED');
    expect(requests[0]!.budget.signal!.aborted).toBe(false);
    second.abort();
    expect(await calls[1]).toBe('INFERENCE_CANCELLED');
    expect(requests[0]!.budget.signal!.aborted).toBe(true);
  });

  it('a caller that gave up leaves the others their rows', async () => {
    const { requests, ask } = setUp();
    const stop = new AbortController();
    const gone = code(ask('1', budget({ signal: stop.signal })));
    const stays = ask('2');
    await turn();
    stop.abort();
    requests[0]!.answer();
    expect([await gone, rows([await stays])]).toEqual(['INFERENCE_CANCELLED', [vectorOf('2')]]);
  });

  it.each(['INFERENCE_REJECTED', 'INFERENCE_FAILED'] as const)(
    '%s for one text fails no other (T20)',
    async (refused) => {
      const { requests, ask } = setUp();
      const calls = [ask('1'), ask('2'), ask('3')];
      const ends = calls.map(code);
      await turn();
      requests[0]!.fail(new ServingError(refused, 'bad'));
      await turn();
      expect(textsOf(requests)).toEqual([['1', '2', '3'], ['1'], ['2'], ['3']]);
      requests[1]!.answer();
      requests[2]!.fail(new ServingError(refused, 'bad'));
      requests[3]!.answer();
      expect(await Promise.all(ends)).toEqual(['ok', refused, 'ok']);
    },
  );

  it.each(['INFERENCE_DEADLINE', 'INFERENCE_QUEUE_FULL', 'OVERLOADED', 'BREAKER_OPEN'] as const)(
    '%s is the end of all: asking again would add to the trouble',
    async (trouble) => {
      const { requests, ask } = setUp();
      const ends = [ask('1'), ask('2')].map(code);
      await turn();
      requests[0]!.fail(new ServingError(trouble, 'bad'));
      expect(await Promise.all(ends)).toEqual([trouble, trouble]);
      expect(requests).toHaveLength(1);
    },
  );

  it('nothing listens to a signal any more when its call has ended', async () => {
    const { requests, ask } = setUp();
    const listening = new Set<unknown>();
    const signal = {
      aborted: false,
      addEventListener: (_: string, listener: unknown) => listening.add(listener),
      removeEventListener: (_: string, listener: unknown) => listening.delete(listener),
    } as unknown as AbortSignal;
    const calls = [ask('1', budget({ signal })), ask('2', budget({ signal }))];
    await turn();
    expect(listening.size).toBe(2);
    requests[0]!.answer();
    await Promise.all(calls);
    expect(listening.size).toBe(0);
  });
});
