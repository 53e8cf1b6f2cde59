/**
 * Protobuf schemas: .proto text parsed by protobufjs. Which message of the file a value is stands before it, as a path of
 * positions; a single zero byte is short for the first.
 */
import protobuf from 'protobufjs';
import { isServingError } from '../errors.ts';
import type { RegisteredSchema, ValueCodec } from './codec.ts';
import { undecodable } from './faults.ts';
import { kindOfField, plainMessage, wireMessage } from './protobuf-value.ts';

const PARSING = { keepCase: true, alternateCommentMode: false } as const;
const FIRST_MESSAGE = Uint8Array.of(0);
const MAX_PATH = 32;

/** Throws what protobufjs throws of a schema that it does not take. */
export function protobufCodec({ text, references }: RegisteredSchema): ValueCodec {
  const root = new protobuf.Root();
  for (const { text: referred } of references) parseInto(root, referred);
  parseInto(root, text);
  root.resolveAll();
  const order = messageOrder(text);
  const first = typeAt(root, order, [0]);
  if (first === undefined) throw new Error('the file holds no message');
  const byPath = new Map<string, protobuf.Type | undefined>();
  const typeOf = (path: readonly number[]) => {
    const key = path.join('.');
    if (!byPath.has(key) && byPath.size < 1_024) byPath.set(key, typeAt(root, order, path));
    return byPath.get(key);
  };
  return {
    format: 'protobuf',
    fields: new Map(first.fieldsArray.map((field) => [field.name, kindOfField(field)])),
    decode(body) {
      const { path, bytes } = takePath(body);
      const type = path.length === 1 && path[0] === 0 ? first : typeOf(path);
      if (type === undefined) throw undecodable(`names message ${path.join('.')} of a file that has no such message`);
      return plainMessage(type, decoded(type, bytes), 'message');
    },
    encode(value) {
      try {
        const message = first.fromObject(wireMessage(first, value));
        return Buffer.concat([FIRST_MESSAGE, first.encode(message).finish()]);
      } catch (error) {
        if (isServingError(error)) throw error;
        throw undecodable(`does not fit message ${first.name}`);
      }
    },
  };
}

function parseInto(root: protobuf.Root, text: string): void {
  const { imports = [], weakImports = [] } = protobuf.parse(text, root, PARSING);
  for (const name of [...imports, ...weakImports]) {
    const known = protobuf.common.get(name);
    if (known?.nested !== undefined) root.addJSON(known.nested);
  }
}

type Names = { readonly name: string; readonly nested: readonly Names[] };

/** Messages in the order of the file. By itself: the files that it imports may add to the same package. */
function messageOrder(text: string): readonly Names[] {
  const root = new protobuf.Root();
  const { package: pkg } = protobuf.parse(text, root, PARSING);
  const scope = pkg === undefined ? root : root.lookup(pkg);
  return scope instanceof protobuf.Namespace ? namesIn(scope) : [];
}

function namesIn(scope: protobuf.NamespaceBase): readonly Names[] {
  return scope.nestedArray
    .filter((one): one is protobuf.Type => one instanceof protobuf.Type)
    .map((type) => ({ name: type.fullName, nested: namesIn(type) }));
}

function typeAt(root: protobuf.Root, order: readonly Names[], path: readonly number[]): protobuf.Type | undefined {
  let [names, name] = [order, undefined as string | undefined];
  for (const index of path) {
    const found = names[index];
    if (found === undefined) return undefined;
    name = found.name;
    names = found.nested;
  }
  return name === undefined ? undefined : root.lookupType(name);
}

function takePath(body: Uint8Array): { readonly path: readonly number[]; readonly bytes: Uint8Array } {
  if (body[0] === 0) return { path: [0], bytes: body.subarray(1) };
  try {
    const reader = protobuf.Reader.create(body);
    const length = reader.sint32();
    if (length < 1 || length > MAX_PATH) throw undecodable('does not say which message it is');
    const path = Array.from({ length }, () => reader.sint32());
    return { path, bytes: body.subarray(reader.pos) };
  } catch {
    throw undecodable('does not say which message it is');
  }
}

function decoded(type: protobuf.Type, bytes: Uint8Array): Record<string, unknown> {
  try {
    return type.decode(bytes) as unknown as Record<string, unknown>;
  } catch {
    throw undecodable(`is no ${type.name}, or ends in the middle (${bytes.byteLength} bytes)`);
  }
}
