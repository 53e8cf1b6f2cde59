/** What the health routes and refusals answer. The handlers answer by these schemas, and the OpenAPI document is made from them. */
import { z } from 'zod';
import { checkStates } from '../lifecycle/health-states.ts';
import { phases } from '../lifecycle/phase.ts';
import { field, named } from './schema-registry.ts';

export const isoTime = () => z.iso.datetime();

export const errorCodes = [
  'bad_request',
  'unauthorized',
  'not_found',
  'method_not_allowed',
  'timeout',
  'too_large',
  'busy',
  'internal',
] as const;

export const errorSchema = named(
  'Error',
  z.strictObject({
    error: z.strictObject({
      code: field(z.enum(errorCodes), 'What is wrong, for programs.'),
      message: field(z.string(), 'What is wrong, for people. Never quotes the request.'),
    }),
  }),
  'Every refusal has this body.',
);

const errorContent = { 'application/json': { schema: errorSchema } };

/** For the document: what any route may answer instead of its own answer. */
export const anyRefusal = {
  '4xx': { description: 'Refused.', content: errorContent },
  '5xx': { description: 'The server failed to answer, or took too long.', content: errorContent },
} as const;

export const livenessSchema = named(
  'Liveness',
  z.strictObject({
    status: z.enum(['alive', 'stalled']),
    reason: z.string().optional(),
  }),
  'Stalled: only another process would get on; this one is about to end by itself.',
);

export const checkSchema = named(
  'Check',
  z.strictObject({
    name: z.string(),
    state: field(
      z.enum(checkStates),
      'unknown: it cannot be told here (a machine without a GPU has no VRAM metrics); that does not count against readiness.',
    ),
    ok: field(z.boolean(), 'False counts against readiness.'),
    reason: field(
      z.string().optional(),
      'Why it does not pass, or what is odd though it does. No user content, no secret.',
    ),
    since: field(isoTime(), 'Since when it has been in this state.'),
  }),
  'One thing that readiness depends on.',
);

export const readinessSchema = named(
  'Readiness',
  z.strictObject({
    status: z.enum(['ready', 'not_ready']),
    phase: z.enum(phases),
    checks: z.array(checkSchema),
  }),
  'Ready: running, and no check fails.',
);

export type OpsErrorBody = z.infer<typeof errorSchema>;
export type ErrorBodyCode = (typeof errorCodes)[number];
export type ReadinessBody = z.infer<typeof readinessSchema>;
