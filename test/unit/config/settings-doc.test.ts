/** docs/settings.md says what the code says. */
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { renderSettingsDoc } from '../../../scripts/docs/settings-doc.ts';
import { allSettings } from '../../../src/config/catalogue.ts';

it('docs/settings.md is what the catalogue gives (make docs writes it)', async () => {
  await expect(renderSettingsDoc()).toMatchFileSnapshot(join(import.meta.dirname, '../../../docs/settings.md'));
});

it('each setting has a row of four cells', () => {
  const rows = renderSettingsDoc().split('\n');
  for (const { name } of allSettings) {
    const [row, ...more] = rows.filter((line) => line.startsWith(`| \`${name}\` |`));
    expect(more, name).toEqual([]);
    expect(row?.match(/(?<!\\)\|/g), name).toHaveLength(5);
  }
});
