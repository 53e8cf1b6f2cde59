/**
 * PostgreSQL and connection errors as ours, by SQLSTATE.
 *
 * Surprising: PostgreSQL quotes values in messages and details ("Key (chunk_id)=(...) already exists"), and node-postgres
 * keeps them on the error. So the cause kept here is a new error that names the code only; names of constraints and
 * columns are no data and are told.
 */
import { type ErrorCode, ServingError } from '../../errors.ts';

type Meaning = { readonly code: ErrorCode; readonly advice: string };

const DENIED: Meaning = { code: 'SINK_ACCESS_DENIED', advice: 'the user of RAG_SERVING_PGVECTOR_URL may not do this' };
const CHANGED: Meaning = {
  code: 'SINK_SCHEMA_MISMATCH',
  advice: 'the table or a column is not what it was when the worker started: restore it, or start again on a new table',
};
const REFUSED: Meaning = { code: 'SINK_ROW_REFUSED', advice: 'the row breaks a rule of the table' };
const AWAY: Meaning = { code: 'SINK_UNAVAILABLE', advice: 'it goes on when the server is back' };

/** Single states; `CLASSES` has the rest by their first two characters. Anything else is an outage: it loses nothing. */
const STATES: Readonly<Record<string, Meaning>> = {
  '0A000': { code: 'SINK_UNAVAILABLE', advice: 'the server cannot do this' },
  '25006': { code: 'SINK_UNAVAILABLE', advice: 'it is a read-only standby, or its transactions are read-only' },
  '28000': {
    code: 'SINK_ACCESS_DENIED',
    advice: 'it does not let this user in from here (pg_hba.conf, TLS, client certificate)',
  },
  '28P01': { code: 'SINK_ACCESS_DENIED', advice: 'it refuses the user or password of RAG_SERVING_PGVECTOR_URL' },
  '3D000': { code: 'CONFIG_INVALID', advice: 'it has no such database: create it or correct RAG_SERVING_PGVECTOR_URL' },
  '3F000': { code: 'CONFIG_INVALID', advice: 'it has no such schema: create it or correct RAG_SERVING_PGVECTOR_TABLE' },
  '40001': { code: 'SINK_UNAVAILABLE', advice: 'other transactions were in the way each time it was tried' },
  '40P01': { code: 'SINK_UNAVAILABLE', advice: 'other transactions were in the way each time it was tried' },
  '42501': DENIED,
  '42703': CHANGED,
  '42704': CHANGED,
  '42804': CHANGED,
  '42883': CHANGED,
  '42P01': CHANGED,
  '42P10': CHANGED,
  '53100': { code: 'SINK_FULL', advice: 'its disk is full: free some space or enlarge it' },
  '53200': { code: 'SINK_UNAVAILABLE', advice: 'it is out of memory' },
  '53300': {
    code: 'SINK_UNAVAILABLE',
    advice: 'it has no connection left: lower RAG_SERVING_PGVECTOR_POOL_SIZE or put a pooler before it',
  },
  '54000': REFUSED,
  '54001': REFUSED,
  '55P03': {
    code: 'SINK_UNAVAILABLE',
    advice: 'somebody else holds a lock on the table (a migration, a lock of a session?)',
  },
  '57014': {
    code: 'SINK_UNAVAILABLE',
    advice: 'the statement took longer than RAG_SERVING_PGVECTOR_STATEMENT_TIMEOUT_MS, or was cancelled',
  },
  '57P01': AWAY,
  '57P02': AWAY,
  '57P03': AWAY,
  P0001: { code: 'SINK_ROW_REFUSED', advice: 'a trigger refuses the row' },
};

const CLASSES: Readonly<Record<string, Meaning>> = {
  '22': { code: 'SINK_ROW_REFUSED', advice: 'a value of the row does not fit its column' },
  '23': REFUSED,
  '44': REFUSED,
};

/** What may succeed at once when it is tried again: deadlock, serialization failure, lock timeout. */
const CONFLICTS = new Set(['40001', '40P01', '55P03']);

/** @param server host:port/database, for the message */
export function translatePostgresError(error: unknown, what: string, server: string): ServingError {
  if (error instanceof ServingError) return error;
  const label = errorLabel(error);
  const cause = new Error(label);
  if (!isSqlState(label)) {
    const message = `${what}: PostgreSQL at ${server} cannot be reached or does not answer in time: ${label}`;
    return new ServingError('SINK_UNAVAILABLE', message, { cause });
  }
  const { code, advice } = STATES[label] ??
    CLASSES[label.slice(0, 2)] ?? { code: 'SINK_UNAVAILABLE' as const, advice: 'see its log' };
  const { constraint, column } = error as { readonly constraint?: string; readonly column?: string };
  const named = [constraint && `constraint ${constraint}`, column && `column ${column}`].filter(Boolean).join(', ');
  const where = named === '' ? '' : ` (${named})`;
  return new ServingError(code, `${what}: PostgreSQL at ${server} answers ${label}${where}: ${advice}`, { cause });
}

export function isConflict(error: unknown): boolean {
  return CONFLICTS.has(errorLabel(error));
}

/** True for an error that rows of the statement may have caused. */
export function isRowFault(error: unknown): boolean {
  const label = errorLabel(error);
  return isSqlState(label) && (STATES[label] ?? CLASSES[label.slice(0, 2)])?.code === 'SINK_ROW_REFUSED';
}

/** SQLSTATE, the system's error code, or the name of the error. */
export function errorLabel(error: unknown): string {
  if (!(error instanceof Error)) return typeof error;
  const code = (error as NodeJS.ErrnoException).code;
  if (typeof code === 'string') return code;
  return error.name === 'Error' ? 'NOT_CONNECTED' : error.name;
}

function isSqlState(label: string): boolean {
  return /^[0-9A-Z]{5}$/.test(label) && !/^E[A-Z]{4}$/.test(label);
}
