import { afterEach, expect, it } from 'vitest';
import { defaultForNative } from '../../../src/config/native-defaults.ts';

const NAME = 'RAG_TEST_NATIVE_DEFAULT';
afterEach(() => {
  delete process.env[NAME];
});

it('a native library finds the default in the environment, unless the operator has chosen otherwise', () => {
  defaultForNative(NAME, '1');
  expect(process.env[NAME]).toBe('1');
  defaultForNative(NAME, '2');
  expect(process.env[NAME]).toBe('1');
});
