import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { allSettings } from '../../../src/config/catalogue.ts';
import { EnvReader } from '../../../src/config/env-reader.ts';
import { boolean, choice, integer, ratio, secret, text } from '../../../src/config/leaf-types.ts';
import { serverSettings } from '../../../src/config/sections/server.ts';
import { always, byPool, type Setting, unset } from '../../../src/config/setting.ts';
import { unknownNameWarnings } from '../../../src/config/unknown-names.ts';
import { problemsOf } from './machine.ts';

const about = { doc: 'For a test.' };
const pool = 'batch_ingestion';

function readOne<T>(setting: Setting<T>, value: string | undefined): T {
  const reader = new EnvReader({ [setting.name]: value }, { pool });
  const result = reader.read(setting);
  reader.finish();
  return result;
}

describe('booleans (F01)', () => {
  const settings = allSettings.filter(({ accepts }) => accepts.startsWith('true or false')) as Setting<boolean>[];
  it('are found in the catalogue', () => expect(settings.length).toBeGreaterThanOrEqual(4));
  for (const setting of settings) {
    for (const off of ['false', 'FALSE', '0', 'no', 'off', ' false ', 'Off\n']) {
      it(`${setting.name}=${JSON.stringify(off)} is off`, () => expect(readOne(setting, off)).toBe(false));
    }
    for (const on of ['true', 'TRUE', '1', 'yes', 'on', ' Yes\t']) {
      it(`${setting.name}=${JSON.stringify(on)} is on`, () => expect(readOne(setting, on)).toBe(true));
    }
    for (const wrong of ['2', 'tru', 'flase', 'null', 'constructor', '-1']) {
      it(`${setting.name}=${wrong} is refused by name`, () => {
        expect(problemsOf(() => readOne(setting, wrong))).toEqual([expect.stringContaining(setting.name)]);
      });
    }
    it(`${setting.name} empty is the default`, () => {
      const fallback = setting.fallback.kind === 'value' ? setting.fallback.value : undefined;
      expect(readOne(setting, '')).toBe(fallback);
      expect(readOne(setting, '  ')).toBe(fallback);
    });
  }
});

describe('numbers', () => {
  const port = integer('PORT_SETTING', always(80), { min: 1, max: 65_535 }, about);
  const cases: { value: string; gives: number | 'refused' }[] = [
    { value: '8080', gives: 8080 },
    { value: ' 8080\n', gives: 8080 },
    { value: '', gives: 80 },
    { value: '0', gives: 'refused' },
    { value: '65536', gives: 'refused' },
    { value: '8e3', gives: 'refused' },
    { value: '1.048576e+06', gives: 'refused' },
    { value: '0x50', gives: 'refused' },
    { value: '80.5', gives: 'refused' },
    { value: '1_000', gives: 'refused' },
    { value: 'NaN', gives: 'refused' },
    { value: '99999999999999999999', gives: 'refused' },
  ];
  for (const { value, gives } of cases) {
    it(`integer ${JSON.stringify(value)} ${gives === 'refused' ? 'is refused' : `reads as ${gives}`} (H01)`, () => {
      if (gives === 'refused') expect(problemsOf(() => readOne(port, value))).toHaveLength(1);
      else expect(readOne(port, value)).toBe(gives);
    });
  }

  const share = ratio('SHARE_SETTING', 0.85, about);
  for (const value of ['0', '1.01', '-0.5', 'half', '.', '1e-1']) {
    it(`ratio ${value} is refused`, () => expect(problemsOf(() => readOne(share, value))).toHaveLength(1));
  }
  for (const value of ['1', '0.5', '.5', '1.0']) {
    it(`ratio ${value} is read`, () => expect(readOne(share, value)).toBe(Number(value)));
  }
});

describe('the reader', () => {
  it('takes the default of the pool', () => {
    const batch = integer('BATCH_SETTING', byPool(32, 32, 256), { min: 1, max: 512 }, about);
    expect(new EnvReader({}, { pool: 'batch_ingestion' }).read(batch)).toBe(256);
    expect(new EnvReader({}, { pool: 'online_embedding' }).read(batch)).toBe(32);
  });

  it('reads a choice in any case and spells it as listed', () => {
    const level = choice('LEVEL_SETTING', ['DEBUG', 'INFO'], always('INFO'), about);
    expect(readOne(level, 'debug')).toBe('DEBUG');
    expect(problemsOf(() => readOne(level, 'loud'))).toEqual([expect.stringContaining('set one of DEBUG, INFO')]);
  });

  it('reports every problem at once', () => {
    const reader = new EnvReader({ A_SETTING: 'x', B_SETTING: 'y', C_SETTING: '  ' }, { pool });
    reader.read(boolean('A_SETTING', false, about));
    reader.read(integer('B_SETTING', always(1), { min: 1, max: 2 }, about));
    reader.read(secret('C_SETTING', about));
    expect(() => reader.finish()).toThrow(/^3 settings are wrong:\n- A_SETTING .*\n- B_SETTING .*\n- C_SETTING /);
  });

  it('a secret of blanks is refused, an empty one is unset (M07)', () => {
    const key = secret('KEY_SETTING', about);
    expect(readOne(key, '')).toBeUndefined();
    expect(readOne(key, 's3cret\n')?.reveal()).toBe('s3cret');
    expect(problemsOf(() => readOne(key, ' \n'))).toEqual([expect.stringContaining('only white space')]);
  });

  it('an empty API key is refused: what it protects must not open when it gets lost (M07)', () => {
    expect(readOne(serverSettings.apiKey, undefined)).toBeUndefined();
    for (const empty of ['', ' ', '\n']) {
      expect(problemsOf(() => readOne(serverSettings.apiKey, empty))).toEqual([
        expect.stringMatching(/^RAG_SERVING_API_KEY (is empty|holds only white space)/),
      ]);
    }
  });

  it('does not report a rule on top of a refused setting', () => {
    const size = integer('SIZE_SETTING', always(1), { min: 1, max: 2 }, about);
    const reader = new EnvReader({ SIZE_SETTING: 'x' }, { pool });
    reader.read(size);
    reader.rule(false, [size], 'breaks a rule');
    expect(problemsOf(() => reader.finish())).toHaveLength(1);
  });

  it('never quotes a refused value, whatever setting it is in', () => {
    const value = fc.string({ minLength: 6, maxLength: 40, unit: 'grapheme-ascii' }).map((tail) => `SENTINEL${tail}`);
    fc.assert(
      fc.property(fc.constantFrom(...allSettings), value, (setting, secretText) => {
        const problems = problemsOf(() => readOne(setting as Setting<unknown>, secretText));
        for (const problem of problems) expect(problem).not.toContain('SENTINEL');
      }),
      { numRuns: 500 },
    );
  });

  it('ignores what it inherits and does not ask for', () => {
    const inherited = text('toString', unset, about);
    expect(new EnvReader(Object.assign(Object.create(null), {}), { pool }).read(inherited)).toBeUndefined();
  });
});

describe('names that look like ours', () => {
  const known = ['RAG_SERVING_SHM_SLOTS', 'RAG_SERVING_SINK'];
  it('are warned of, with the nearest real one', () => {
    expect(unknownNameWarnings(['RAG_SERVING_SHM_SLOT', 'RAG_SERVING_SINK', 'PATH'], known)).toEqual([
      'RAG_SERVING_SHM_SLOT is no setting and has no effect; did you mean RAG_SERVING_SHM_SLOTS?',
    ]);
  });
  it('without a near one are only named', () => {
    expect(unknownNameWarnings(['RAG_SERVING_COMPLETELY_ELSE'], known)).toEqual([
      'RAG_SERVING_COMPLETELY_ELSE is no setting and has no effect',
    ]);
  });
});
