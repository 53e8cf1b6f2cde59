import fc from 'fast-check';
import { expect, it } from 'vitest';
import { EventText } from '../../../page/event-text.ts';

it('events are read whole, wherever the pieces are cut, and comments are none', () => {
  const stream = 'event: status\ndata: {"a":1}\n\n: still the same\n\nevent: status\ndata: {"b":"ü"}\n\n';
  fc.assert(
    fc.property(fc.array(fc.nat(stream.length)), (cuts) => {
      const text = new EventText();
      const edges = [0, ...cuts.sort((one, other) => one - other), stream.length];
      const pieces = edges.slice(1).map((to, index) => stream.slice(edges[index], to));
      expect(pieces.flatMap((piece) => text.push(piece))).toEqual(['{"a":1}', '{"b":"ü"}']);
    }),
  );
});

it('an event that was cut off is not read', () => {
  expect(new EventText().push('event: status\ndata: {"a":')).toEqual([]);
});
