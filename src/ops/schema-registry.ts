/**
 * Names and descriptions of the schemas that the handlers answer by, for the OpenAPI document. A registry of our own:
 * zod's global one belongs to everybody in the process.
 */
import { z } from 'zod';

export const opsSchemas = z.registry<{ readonly id?: string; readonly description?: string }>();

/** A field that says what it means. */
export function field<T extends z.ZodType>(schema: T, description: string): T {
  opsSchemas.add(schema, { description });
  return schema;
}

/** A schema that the document shows under its own name. */
export function named<T extends z.ZodType>(id: string, schema: T, description: string): T {
  opsSchemas.add(schema, { id, description });
  return schema;
}
