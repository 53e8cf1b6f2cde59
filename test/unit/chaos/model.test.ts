/** The checker finds what it is there for: each fault planted, each right state accepted. */
import { describe, expect, it } from 'vitest';
import { ProducedModel, type StoredChunk } from '../../chaos/model.ts';
import type { ChaosMessage, Operation } from '../../chaos/stream.ts';

const ID = 'doc-1#1';
const PARTITION = 1;
const END = [0n, 1_000n];

const write = (text: string, version?: number): Operation => ({
  kind: 'write',
  chunkId: ID,
  documentId: 'doc-1',
  version,
  text,
});
const deleteChunk: Operation = { kind: 'delete chunk', chunkId: ID, documentId: 'doc-1' };
const deleteDocument: Operation = { kind: 'delete document', documentId: 'doc-1' };
const row = (text: string, version?: number, vector = text): StoredChunk => ({
  documentId: 'doc-1',
  version,
  text,
  vector: Buffer.from(vector),
});

const message = (operation: Operation): ChaosMessage => ({
  partition: PARTITION,
  key: 'doc-1',
  value: null,
  headers: {},
  operations: [operation],
});

/** One message for each operation, at offsets 0, 1, 2 …; `last` is still on its way. */
function modelOf(operations: readonly Operation[], last?: Operation): ProducedModel {
  const model = new ProducedModel(2, (vector, text) => Buffer.from(vector).toString() === text);
  for (const [offset, operation] of operations.entries()) {
    model.sending([message(operation)]);
    model.acknowledged(new Map([[PARTITION, BigInt(offset)]]));
  }
  if (last !== undefined) model.sending([message(last)]);
  return model;
}

type Case = {
  readonly name: string;
  readonly sent: readonly Operation[];
  readonly sending?: Operation;
  readonly stored: StoredChunk | undefined;
  readonly committed?: bigint;
  readonly kinds: readonly string[];
};

const cases: readonly Case[] = [
  { name: 'the newest is there', sent: [write('a'), write('b')], stored: row('b'), kinds: [] },
  { name: 'nothing is there', sent: [write('a')], stored: undefined, kinds: ['lost'] },
  { name: 'an older one is there', sent: [write('a'), write('b')], stored: row('a'), kinds: ['stale'] },
  { name: "another text's vector", sent: [write('a')], stored: row('a', undefined, 'b'), kinds: ['wrongVectors'] },
  { name: 'deleted and gone', sent: [write('a'), deleteChunk], stored: undefined, kinds: [] },
  { name: 'deleted and there', sent: [write('a'), deleteChunk], stored: row('a'), kinds: ['resurrected'] },
  {
    name: 'its document deleted and there',
    sent: [write('a'), deleteDocument],
    stored: row('a'),
    kinds: ['resurrected'],
  },
  {
    name: 'written anew after a deletion',
    sent: [write('a'), deleteDocument, write('b')],
    stored: row('b'),
    kinds: [],
  },
  { name: 'not written anew after a deletion', sent: [deleteChunk, write('b')], stored: undefined, kinds: ['lost'] },
  { name: 'a late older version is ignored', sent: [write('a', 5), write('b', 4)], stored: row('a', 5), kinds: [] },
  {
    name: 'a late older version is stored',
    sent: [write('a', 5), write('b', 4)],
    stored: row('b', 4),
    kinds: ['stale'],
  },
  { name: 'of one version the later offset', sent: [write('a', 5), write('b', 5)], stored: row('b', 5), kinds: [] },
  { name: 'right text, wrong version', sent: [write('a', 5)], stored: row('a', 4), kinds: ['stale'] },
  { name: 'not committed yet, not there', sent: [write('a')], stored: undefined, committed: 0n, kinds: [] },
  { name: 'committed before it is there', sent: [write('a')], stored: undefined, committed: 1n, kinds: ['lost'] },
  { name: 'more under way, older there', sent: [write('a')], sending: write('b'), stored: row('a'), kinds: [] },
  { name: 'more under way, newer there', sent: [write('a')], sending: write('b'), stored: row('b'), kinds: [] },
  { name: 'more under way, deleted', sent: [write('a')], sending: deleteDocument, stored: undefined, kinds: [] },
  { name: 'more under way, never sent', sent: [write('a')], sending: write('b'), stored: row('c'), kinds: ['stale'] },
  {
    name: 'more under way, wrong vector',
    sent: [write('a')],
    sending: write('b'),
    stored: row('a', undefined, 'b'),
    kinds: ['wrongVectors'],
  },
];

describe('ProducedModel', () => {
  for (const { name, sent, sending, stored, committed, kinds } of cases) {
    it(`${name}: ${kinds.join(', ') || 'right'}`, () => {
      const model = modelOf(sent, sending);
      const verdicts = model.judge(ID, stored, committed === undefined ? END : [0n, committed]);
      expect(verdicts.map(({ kind }) => kind)).toEqual(kinds);
    });
  }

  it('a chunk that nobody sent is stale', () => {
    expect(modelOf([write('a')]).judge('doc-9#9', row('x'), END)).toMatchObject([{ kind: 'stale' }]);
  });

  it('counts the copies that a repeated request left in the log', () => {
    const model = new ProducedModel(2, () => true);
    const twice = [message(write('a')), message(write('b'))];
    model.sending(twice);
    model.acknowledged(new Map([[PARTITION, 2n]]));
    expect([...model.copies.values()]).toEqual([2, 2]);
    expect(model.ends).toEqual([0n, 4n]);
  });

  it('judges the same after it has forgotten', () => {
    const model = modelOf([write('a', 5), write('b', 4)]);
    model.compact(new Set());
    expect(model.judge(ID, row('a', 5), END)).toEqual([]);
    expect(model.judge(ID, row('b', 4), END)).toMatchObject([{ kind: 'stale' }]);
  });
});
