import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { OrderGate, type OrderKeys } from '../../../src/pipeline/order.ts';

type Item = { readonly name: string; readonly keys: OrderKeys; readonly replaceable: boolean };

const chunk = (name: string, chunkId: string, documentId = 'doc', replaceable = false): Item => ({
  name,
  keys: { chunkId, documentId, wholeDocument: false },
  replaceable,
});
const deleteDocument = (name: string, documentId = 'doc'): Item => ({
  name,
  keys: { chunkId: undefined, documentId, wholeDocument: true },
  replaceable: false,
});
const deleteChunk = (name: string, chunkId: string): Item => ({
  name,
  keys: { chunkId, documentId: undefined, wholeDocument: false },
  replaceable: false,
});

function openGate() {
  const running: Item[] = [];
  const superseded: Item[] = [];
  const gate = new OrderGate<Item>({
    keysOf: ({ keys }) => keys,
    replaces: (later, earlier) => later.replaceable && earlier.replaceable,
    run: (item) => running.push(item),
    superseded: (item) => superseded.push(item),
  });
  const names = () => running.map(({ name }) => name);
  const leave = (item: Item) => {
    running.splice(running.indexOf(item), 1);
    gate.leave(item);
  };
  return { gate, running, superseded, names, leave };
}

describe('OrderGate', () => {
  it('different chunks of one document run together', () => {
    const { gate, names } = openGate();
    for (const id of ['a', 'b', 'c']) gate.enter(chunk(id, id));
    expect(names()).toEqual(['a', 'b', 'c']);
  });

  it('a second revision waits for the first', () => {
    const { gate, names, leave } = openGate();
    const first = chunk('first', 'a');
    gate.enter(first);
    gate.enter(chunk('second', 'a'));
    expect(names()).toEqual(['first']);
    leave(first);
    expect(names()).toEqual(['second']);
  });

  it('a third revision takes the place of the second that still waits', () => {
    const { gate, names, leave, superseded } = openGate();
    const first = chunk('first', 'a', 'doc', true);
    gate.enter(first);
    gate.enter(chunk('second', 'a', 'doc', true));
    gate.enter(chunk('third', 'a', 'doc', true));
    expect(superseded.map(({ name }) => name)).toEqual(['second']);
    leave(first);
    expect(names()).toEqual(['third']);
  });

  it('deleting a document waits for its chunks and holds back those that follow', () => {
    const { gate, names, leave } = openGate();
    const before = chunk('before', 'a');
    const gone = deleteDocument('delete');
    gate.enter(before);
    gate.enter(gone);
    gate.enter(chunk('after', 'b'));
    gate.enter(chunk('elsewhere', 'c', 'other'));
    expect(names()).toEqual(['before', 'elsewhere']);
    leave(before);
    expect(names()).toEqual(['elsewhere', 'delete']);
    leave(gone);
    expect(names()).toEqual(['elsewhere', 'after']);
  });

  it('a replaced revision gives its document back to a deletion that waits', () => {
    const { gate, names, leave } = openGate();
    const first = chunk('first', 'a', 'doc-1', true);
    const deletion = deleteDocument('delete', 'doc-2');
    gate.enter(first);
    gate.enter(chunk('moved', 'a', 'doc-2', true));
    gate.enter(deletion);
    expect(names()).toEqual(['first']);
    gate.enter(chunk('back again', 'a', 'doc-1', true));
    expect(names()).toEqual(['first', 'delete']);
    leave(first);
    expect(names()).toEqual(['delete', 'back again']);
  });

  it('dropping what waits frees what it held', () => {
    const { gate, names } = openGate();
    gate.enter(chunk('first', 'a', 'doc-1'));
    gate.enter(chunk('waits', 'a', 'doc-2'));
    gate.enter(deleteDocument('delete', 'doc-2'));
    expect(gate.dropWaiting(({ name }) => name === 'waits').map(({ name }) => name)).toEqual(['waits']);
    expect(names()).toEqual(['first', 'delete']);
    expect(gate.waiting).toBe(0);
  });

  it('for any order of arrival and departure: no conflict runs at once, arrival order holds, nothing is left', () => {
    const anItem = fc.oneof(
      fc.record({ chunkId: fc.constantFrom('a', 'b'), documentId: fc.constantFrom('x', 'y') }),
      fc.record({ deleteDocument: fc.constantFrom('x', 'y') }),
      fc.record({ deleteChunk: fc.constantFrom('a', 'b') }),
    );
    fc.assert(
      fc.property(fc.array(anItem, { maxLength: 30 }), fc.infiniteStream(fc.nat()), (specs, choices) => {
        const { gate, running, leave } = openGate();
        const finished: Item[] = [];
        const items = specs.map((spec, i) => {
          if ('deleteDocument' in spec) return deleteDocument(String(i), spec.deleteDocument);
          if ('deleteChunk' in spec) return deleteChunk(String(i), spec.deleteChunk);
          return chunk(String(i), spec.chunkId, spec.documentId);
        });
        const step = () => {
          const item = running[(choices.next().value as number) % running.length];
          if (item === undefined) return;
          leave(item);
          finished.push(item);
        };
        for (const item of items) {
          gate.enter(item);
          assertNoConflict(running);
          if ((choices.next().value as number) % 2 === 0) step();
        }
        while (running.length > 0) {
          step();
          assertNoConflict(running);
        }
        expect(finished).toHaveLength(items.length);
        for (const id of ['a', 'b']) {
          const of = (list: Item[]) =>
            list.filter(({ keys }) => keys.chunkId === id && keys.documentId === undefined).map(({ name }) => name);
          expect(of(finished)).toEqual(of(items));
        }
      }),
    );
  });
});

function assertNoConflict(running: readonly Item[]): void {
  const chunkIds = running.flatMap(({ keys }) => keys.chunkId ?? []);
  expect(new Set(chunkIds).size).toBe(chunkIds.length);
  for (const { keys } of running.filter((item) => item.keys.wholeDocument)) {
    expect(running.filter((item) => item.keys.documentId === keys.documentId)).toHaveLength(1);
  }
}
