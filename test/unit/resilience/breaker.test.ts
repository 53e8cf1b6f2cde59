import { describe, expect, it } from 'vitest';
import { Breaker, type BreakerTicket } from '../../../src/resilience/breaker.ts';

const policy = { failuresToOpen: 3, open: { baseMs: 100, maxMs: 400 } };

function opened() {
  const changes: string[] = [];
  const breaker = new Breaker(policy, (state) => changes.push(state));
  for (let i = 0; i < 3; i++) fail(breaker, 0);
  return { breaker, changes };
}

function take(breaker: Breaker, nowMs: number): BreakerTicket {
  const ticket = breaker.enter(nowMs);
  if (ticket === undefined) throw new Error('the breaker let nobody in');
  return ticket;
}

const fail = (breaker: Breaker, nowMs: number) => take(breaker, nowMs).failed(nowMs, 1);

describe('Breaker', () => {
  it('opens after as many failures in a row as the policy says', () => {
    const { breaker, changes } = opened();
    expect(changes).toEqual(['open']);
    expect(breaker.enter(99)).toBeUndefined();
    expect(breaker.retryInMs(30)).toBe(70);
  });

  it('a success between failures begins the count anew', () => {
    const breaker = new Breaker(policy);
    fail(breaker, 0);
    fail(breaker, 0);
    take(breaker, 0).succeeded();
    fail(breaker, 0);
    fail(breaker, 0);
    expect(breaker.state).toBe('closed');
  });

  it('half-open lets one call in, not everyone (O12)', () => {
    const { breaker } = opened();
    expect(breaker.enter(100)).toBeDefined();
    expect(breaker.state).toBe('half-open');
    expect(breaker.enter(100)).toBeUndefined();
    expect(breaker.enter(10_000)).toBeUndefined();
  });

  it('a sign of life ends the wait: the next call is the probe; it changes nothing in any other state', () => {
    const { breaker, changes } = opened();
    breaker.signOfLife();
    expect(changes).toEqual(['open', 'half-open']);
    take(breaker, 1).failed(1, 1);
    expect(breaker.retryInMs(1)).toBe(200);
    breaker.signOfLife();
    const probe = take(breaker, 2);
    breaker.signOfLife();
    expect(breaker.enter(2)).toBeUndefined();
    probe.succeeded();
    breaker.signOfLife();
    expect(breaker.state).toBe('closed');
  });

  it('a probe that succeeds closes it; one that fails opens it for longer, up to the cap', () => {
    const { breaker, changes } = opened();
    fail(breaker, 100);
    expect(breaker.retryInMs(100)).toBe(200);
    fail(breaker, 300);
    fail(breaker, 700);
    expect(breaker.retryInMs(700)).toBe(400);
    take(breaker, 1_100).succeeded();
    expect(changes.slice(-2)).toEqual(['half-open', 'closed']);
    for (let i = 0; i < 3; i++) fail(breaker, 2_000);
    expect(breaker.retryInMs(2_000)).toBe(100);
  });

  it('a probe that its caller ended makes room for the next', () => {
    const { breaker } = opened();
    take(breaker, 100).ignored();
    expect(breaker.enter(100)).toBeDefined();
  });

  it('the late end of a call from before it opened changes nothing', () => {
    const breaker = new Breaker(policy);
    const late = take(breaker, 0);
    const lateFailure = take(breaker, 0);
    for (let i = 0; i < 3; i++) fail(breaker, 0);
    late.succeeded();
    lateFailure.failed(50, 1);
    expect(breaker.state).toBe('open');
    expect(breaker.retryInMs(50)).toBe(50);
  });

  it('a ticket counts once', () => {
    const breaker = new Breaker(policy);
    const ticket = take(breaker, 0);
    for (let i = 0; i < 5; i++) ticket.failed(0, 1);
    expect(breaker.state).toBe('closed');
  });
});

describe('a breaker that looks at the last calls', () => {
  const rolling = { failuresToOpen: 100, rolling: { of: 10, share: 0.5 }, open: { baseMs: 100, maxMs: 400 } };
  const end = (breaker: Breaker, ends: string) => {
    for (const one of ends) {
      const ticket = take(breaker, 0);
      if (one === 'x') ticket.failed(0, 1);
      else ticket.succeeded();
    }
    return breaker.state;
  };

  it('opens when the share of failures is reached, though none follow each other', () => {
    expect(end(new Breaker(rolling), '.x.x.x.x.')).toBe('closed');
    expect(end(new Breaker(rolling), '.x.x.x.x.x')).toBe('open');
  });

  it('does not judge by fewer calls than it looks at', () => {
    expect(end(new Breaker(rolling), 'xxxxxxxxx')).toBe('closed');
    expect(end(new Breaker(rolling), 'xxxxxxxxxx')).toBe('open');
  });

  it('forgets what lies further back', () => {
    expect(end(new Breaker(rolling), '.....xxxx..........xxxx.')).toBe('closed');
  });

  it('begins anew after a probe that succeeded', () => {
    const breaker = new Breaker(rolling);
    end(breaker, 'xxxxxxxxxx');
    take(breaker, 100).succeeded();
    expect(end(breaker, 'xxxx')).toBe('closed');
  });
});

describe('a breaker that waits for failures to last', () => {
  const lasting = { failuresToOpen: 3, spanMs: 50, open: { baseMs: 100, maxMs: 400 } };

  it('does not open at a blink, however many calls fail in it', () => {
    const breaker = new Breaker(lasting);
    for (let i = 0; i < 100; i++) fail(breaker, i / 4);
    expect(breaker.state).toBe('closed');
    take(breaker, 30).succeeded();
    fail(breaker, 60);
    fail(breaker, 100);
    expect(breaker.state).toBe('closed');
    fail(breaker, 110);
    expect(breaker.state).toBe('open');
  });
});
