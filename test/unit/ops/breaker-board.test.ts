import { expect, it } from 'vitest';
import { BreakerBoard } from '../../../src/ops/breaker-board.ts';

it('a server that is gone is no longer on the board, and makes room', () => {
  const board = new BreakerBoard();
  for (let i = 0; i < 70; i++) board.set(`10.0.0.${i}:8001`, 'closed', 0);
  expect(board.read()).toHaveLength(64);
  board.drop('10.0.0.0:8001');
  board.set('10.0.1.1:8001', 'open', 5);
  const endpoints = board.read().map(({ endpoint }) => endpoint);
  expect(endpoints).toHaveLength(64);
  expect(endpoints).not.toContain('10.0.0.0:8001');
  expect(board.read().at(-1)).toEqual({ endpoint: '10.0.1.1:8001', state: 'open', since: '1970-01-01T00:00:00.005Z' });
});
