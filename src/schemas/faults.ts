/** Errors about one value or one schema. They never quote a value; libraries' messages may, so those are not passed on. */
import { ServingError } from '../errors.ts';

export function undecodable(says: string): ServingError {
  return new ServingError('VALUE_UNDECODABLE', `value: ${says}`);
}

/** A schema holds no secrets and no chunk text, so the parser's own words may be told. */
export function invalidSchema(says: string, cause: unknown): ServingError {
  const why = cause instanceof Error ? `: ${cause.message.split('\n')[0]?.slice(0, 200)}` : '';
  return new ServingError('SCHEMA_INVALID', `${says}${why}`);
}
