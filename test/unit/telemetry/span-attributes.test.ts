import * as stable from '@opentelemetry/semantic-conventions';
import * as incubating from '@opentelemetry/semantic-conventions/incubating';
import { expect, it } from 'vitest';
import { attributeNames } from '../../../src/telemetry/span-attributes.ts';

it('every attribute that is not ours is one of the semantic conventions', () => {
  const known = new Set(
    Object.entries({ ...incubating, ...stable }).flatMap(([name, value]) => (name.startsWith('ATTR_') ? [value] : [])),
  );
  const theirs = attributeNames.filter((name) => !name.startsWith('rag_serving.'));
  expect(theirs.filter((name) => !known.has(name))).toEqual([]);
  expect(theirs.length).toBeGreaterThan(15);
});
