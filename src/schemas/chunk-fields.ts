/** Whether values of a schema can be chunk messages, told before the first one is read. Pure. */
import type { FieldKind, ValueCodec } from './codec.ts';

const EXPECTED: Readonly<Record<string, FieldKind>> = {
  chunk_id: 'string',
  text: 'string',
  document_id: 'string',
  tenant_id: 'string',
  version: 'integer',
  metadata: 'object',
  chunks: 'array',
};
const NEEDED = ['chunk_id', 'text'] as const;

/** What is wrong, a line a field; none for a schema that leaves its fields open. */
export function fieldProblems({ fields }: Pick<ValueCodec, 'fields'>): readonly string[] {
  if (fields === undefined) return [];
  const problems = Object.entries(EXPECTED).flatMap(([name, expected]) => {
    const kind = fields.get(name);
    return kind === undefined || kind === expected || kind === 'any'
      ? []
      : [`${name}: ${article(expected)} is needed, the schema has ${article(kind)}`];
  });
  if (fields.has('chunks')) return problems;
  const missing = NEEDED.filter((name) => !fields.has(name));
  return [...missing.map((name) => `${name}: the schema has no such field`), ...problems];
}

function article(kind: FieldKind): string {
  if (kind === 'any') return 'a field of any type';
  if (kind === 'bytes') return 'bytes';
  return /^[aio]/.test(kind) ? `an ${kind}` : `a ${kind}`;
}
