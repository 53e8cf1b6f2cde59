/** docs/settings.md, written from the catalogue of settings. Pure. */
import { catalogue, defaultText } from '../../src/config/catalogue.ts';
import { type PoolType, poolTypes, type Setting } from '../../src/config/setting.ts';

const HEAD = `# Settings

Written from the tables in [src/config/sections](../src/config/sections) by \`make docs\`; a test holds them together. [.env.example](../.env.example)
has the same as a file to start from.

Settings are environment variables. All are optional; an empty value means unset, unless the table says otherwise. A program reads them once,
at its start, and names every problem at once: the setting, the shape of the value (never the value), and the remedy. A name that looks like
one of ours and is none is warned of, with the name that was probably meant. Rules between settings are checked too: what a setting says about
another one is enforced.
`;

export function renderSettingsDoc(): string {
  const sections = catalogue.map(
    ({ title, settings }) =>
      `## ${title}\n\n| setting | default | accepts | meaning |\n| --- | --- | --- | --- |\n${Object.values(settings).map(row).join('\n')}\n`,
  );
  return [HEAD, ...sections].join('\n');
}

function row(setting: Setting<unknown>): string {
  const accepts = setting.secret ? `${setting.accepts}; secret` : setting.accepts;
  return `| \`${setting.name}\` | ${fallback(setting)} | ${cell(accepts)} | ${cell(setting.doc)} |`;
}

function fallback(setting: Setting<unknown>): string {
  if (setting.fallback.kind === 'by-pool') {
    return poolTypes.map((pool: PoolType) => `${pool}: \`${defaultText(setting, pool)}\``).join(', ');
  }
  const value = defaultText(setting, 'batch_ingestion');
  if (setting.defaultNote !== undefined) return cell(setting.defaultNote);
  return value === undefined || value === '' ? 'unset' : `\`${value}\``;
}

/** A bar would end the cell; an angle bracket would begin a tag, as in <KAFKA_TOPIC>. */
function cell(text: string): string {
  return text.replaceAll('|', '\\|').replaceAll('<', '&lt;');
}
