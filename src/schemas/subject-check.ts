/** The check of the subject before the first message: it exists, is of the language expected, and its fields make chunks. */
import { ServingError } from '../errors.ts';
import { fieldProblems } from './chunk-fields.ts';
import type { SubjectSchema } from './registry-client.ts';
import { schemaCodec } from './schema-codec.ts';
import type { FramedFormat } from './schema-value-reader.ts';

/** Throws SCHEMA_MISMATCH with all that is wrong. */
export function checkSubject(subject: string, latest: SubjectSchema | undefined, format: FramedFormat): void {
  if (latest === undefined) {
    throw mismatch(
      `subject ${subject} does not exist in the schema registry; register its schema, name another subject in KAFKA_SCHEMA_SUBJECT, or set that to none`,
    );
  }
  const { id, version, schema } = latest;
  const name = `subject ${subject} (version ${version}, schema ${id})`;
  if (format !== 'auto' && schema.format !== format) {
    throw mismatch(`${name} is ${schema.format}, and KAFKA_VALUE_FORMAT is ${format}; set ${schema.format} or auto`);
  }
  let problems: readonly string[];
  try {
    problems = fieldProblems(schemaCodec(schema, name));
  } catch (error) {
    throw mismatch(error instanceof Error ? error.message : name);
  }
  if (problems.length > 0) {
    throw mismatch(`${name} describes no chunk message:\n${problems.map((line) => `- ${line}`).join('\n')}`);
  }
}

function mismatch(says: string): ServingError {
  return new ServingError('SCHEMA_MISMATCH', says);
}
