/** Log lines are told apart by constant messages: what varies is a field, so that it can be redacted and searched. */
import { parseSync, Visitor } from 'oxc-parser';
import { describe, expect, it } from 'vitest';
import { EventCodes, eventCode } from '../../../src/telemetry/event-code.ts';
import { readSourceFiles } from '../../support/source-files.ts';

type Node = { readonly type: string; readonly [key: string]: unknown };
type Call = { readonly path: string; readonly messages: readonly string[] | undefined };

const LEVELS = new Set(['debug', 'info', 'warn', 'error']);

/** Calls of a log in a source: the messages that they may have, undefined where one is no constant. */
function logCalls(path: string, text: string): readonly Call[] {
  const calls: Call[] = [];
  new Visitor({
    CallExpression(call) {
      const callee = call.callee as unknown as Node;
      if (callee.type !== 'MemberExpression' || !/(^|[.#])log$/i.test(text.slice(...rangeOf(callee.object as Node))))
        return;
      const property = callee.property as Node;
      const isComputed = callee.computed === true;
      if (!isComputed && !LEVELS.has(String(property.name))) return;
      const [message] = call.arguments as unknown as Node[];
      calls.push({ path, messages: message === undefined ? undefined : constants(message) });
    },
  }).visit(parseSync(path, text).program);
  return calls;
}

function rangeOf(node: Node): [number, number] {
  return [node.start as number, node.end as number];
}

function constants(node: Node): readonly string[] | undefined {
  if (node.type === 'Literal' && typeof node.value === 'string') return [node.value];
  if (node.type !== 'ConditionalExpression') return undefined;
  const both = [constants(node.consequent as Node), constants(node.alternate as Node)];
  return both.every((one) => one !== undefined) ? both.flat() : undefined;
}

const calls = readSourceFiles()
  .filter(({ path }) => /^(src|online|workers)\//.test(path))
  .flatMap(({ path, text }) => logCalls(path, text));

describe('log lines', () => {
  it('are found', () => {
    expect(calls.length).toBeGreaterThan(70);
    expect(logCalls('x.ts', 'this.#log.warn(a + b); log[x](c ? "d" : "e"); console.log.x();')).toEqual([
      { path: 'x.ts', messages: undefined },
      { path: 'x.ts', messages: ['d', 'e'] },
    ]);
  });

  it('have constant messages', () => {
    expect(calls.filter(({ messages }) => messages === undefined).map(({ path }) => path)).toEqual([]);
  });

  it('have event codes that tell different messages apart', () => {
    const messages = new Set(calls.flatMap((call) => call.messages ?? []));
    const codes = new Map<string, string>();
    for (const message of messages) {
      const code = eventCode(message);
      expect(code).toMatch(/^[a-z0-9]+(-[a-z0-9]+)*$/);
      expect(codes.get(code), `${code} of "${message}"`).toBeUndefined();
      codes.set(code, message);
    }
  });
});

describe('event codes', () => {
  it('are the words of the message', () => {
    expect(eventCode('commit failed; it is tried again')).toBe('commit-failed-it-is-tried-again');
    expect(eventCode('')).toBe('unnamed');
    expect(eventCode('ΩΩΩ')).toBe('unnamed');
    expect(eventCode('word '.repeat(1_000)).length).toBeLessThanOrEqual(80);
  });

  it('of messages that are not constant do not pile up', () => {
    const codes = new EventCodes();
    for (let i = 0; i < 5_000; i++) expect(codes.of(`m ${i}`)).toBe(`m-${i}`);
    expect(codes.of('m 1')).toBe('m-1');
  });
});
