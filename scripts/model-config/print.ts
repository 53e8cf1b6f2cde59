/**
 * A model configuration as the text of config.pbtxt, in the order of the schema, short parts on one line.
 *
 * Protobuf does not tell a field that was set to its default from one that was not set. A few defaults say something to a
 * reader all the same (a queue that rejects, a cache that is off); these are always printed where their message is.
 */
import { type DescField, ScalarType } from '@bufbuild/protobuf';
import { type ReflectMessage, reflect } from '@bufbuild/protobuf/reflect';
import { type ModelConfig, ModelConfigSchema } from '../../src/kserve/gen/model_config_pb.ts';

export type Notes = {
  /** What the model is, above everything. */
  readonly header: readonly string[];
  /** Comments above fields of the configuration, by the field's name. */
  readonly fields?: Readonly<Record<string, readonly string[]>>;
};

const WIDTH = 110;
const ALWAYS = new Set(['inference.ModelQueuePolicy.timeout_action', 'inference.ModelResponseCache.enable']);

/** One field, or one entry of a map: its name, and its value as one line or as several messages. */
type Item = { readonly name: string; readonly value: string } | { readonly name: string; readonly messages: Item[][] };

export function printConfig(config: ModelConfig, notes: Notes): string {
  const lines = comment(notes.header);
  let above: string | undefined;
  for (const item of itemsOf(reflect(ModelConfigSchema, config))) {
    if (item.name !== above) lines.push(...comment(notes.fields?.[item.name] ?? []));
    above = item.name;
    lines.push(...linesOf(item, ''));
  }
  return `${lines.join('\n')}\n`;
}

function comment(lines: readonly string[]): string[] {
  return lines.map((line) => `# ${line}`);
}

function linesOf(item: Item, indent: string): string[] {
  const line = indent + inline(item);
  if ('value' in item || (line.length <= WIDTH && item.messages.length === 1)) return [line];
  const inner = `${indent}  `;
  if (!isList(item)) {
    return [`${indent}${item.name} {`, ...item.messages[0]!.flatMap((part) => linesOf(part, inner)), `${indent}}`];
  }
  const elements = item.messages.map((parts, index) => {
    const comma = index === item.messages.length - 1 ? '' : ',';
    const short = `${inner}${braced(parts)}${comma}`;
    if (short.length <= WIDTH) return [short];
    return [`${inner}{`, ...parts.flatMap((part) => linesOf(part, `${inner}  `)), `${inner}}${comma}`];
  });
  return [`${indent}${item.name} [`, ...elements.flat(), `${indent}]`];
}

function inline(item: Item): string {
  if ('value' in item) return `${item.name}: ${item.value}`;
  const messages = item.messages.map(braced);
  return isList(item) ? `${item.name} [ ${messages.join(', ')} ]` : `${item.name} ${messages[0]}`;
}

function braced(parts: readonly Item[]): string {
  return parts.length === 0 ? '{ }' : `{ ${parts.map(inline).join(' ')} }`;
}

const lists = new WeakSet<object>();

function isList(item: Item): boolean {
  return lists.has(item);
}

function itemsOf(message: ReflectMessage): Item[] {
  return message.fields.flatMap((field) => {
    const always = ALWAYS.has(`${message.desc.typeName}.${field.name}`);
    return message.isSet(field) || always ? itemsOfField(message, field) : [];
  });
}

function itemsOfField(message: ReflectMessage, field: DescField): Item[] {
  const { name } = field;
  switch (field.fieldKind) {
    case 'message':
      return [{ name, messages: [itemsOf(message.get(field))] }];
    case 'list': {
      const values = [...message.get(field)];
      if (field.listKind !== 'message') {
        return [{ name, value: `[ ${values.map((value) => literal(field, value)).join(', ')} ]` }];
      }
      const item = { name, messages: values.map((value) => itemsOf(value as ReflectMessage)) };
      lists.add(item);
      return [item];
    }
    case 'map':
      return [...message.get(field)].map(([key, value]) => ({
        name,
        messages: [
          [
            { name: 'key', value: typeof key === 'string' ? quoted(key) : String(key) },
            field.mapKind === 'message'
              ? { name: 'value', messages: [itemsOf(value as ReflectMessage)] }
              : { name: 'value', value: literal(field, value) },
          ],
        ],
      }));
    default:
      return [{ name, value: literal(field, message.get(field)) }];
  }
}

function literal(field: DescField, value: unknown): string {
  if (field.enum !== undefined) return field.enum.value[value as number]?.name ?? String(value);
  return field.scalar === ScalarType.STRING ? quoted(value as string) : String(value);
}

/** A backslash escape for what would end the string or the line; everything else as it is. */
function quoted(text: string): string {
  const escaped = text.replace(/["\\]/g, '\\$&').replaceAll('\n', '\\n').replaceAll('\r', '\\r');
  return `"${escaped}"`;
}
