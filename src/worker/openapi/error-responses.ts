/** Describes the error responses, one component per status and set of codes. */

import * as z from 'zod'
import { createErrorBody } from '#agent/public-api/error-body.ts'
import type { AppError } from '../errors.ts'
import type { OpenRoute, ApiRoute } from '../route.ts'
import { type Components, type Json, refTo } from './components.ts'

export const errorShape = z.object({
  error: z.object({
    message: z.string().describe('For people. It may change.'),
    type: z.string(),
    code: z.string().describe('For programs.'),
    param: z.string().nullable().describe('The field, header or limit that caused the error.'),
  }),
})

type Code = AppError['code']
type ErrorDescription = {
  readonly status: number
  readonly description: string
  readonly codes: readonly Code[]
}

const kinds = {
  BadRequest: {
    status: 400,
    description: 'The request does not match its schema, or names something that is not allowed.',
    codes: ['invalid_request', 'invalid_json', 'blocked_url', 'unsupported'],
  },
  Unauthorized: { status: 401, description: 'The key is missing, unknown or revoked.', codes: ['invalid_api_key'] },
  Forbidden: {
    status: 403,
    description: 'The key lacks a scope, policy forbids the change, or the tenant is suspended.',
    codes: ['insufficient_scope', 'policy', 'tenant_suspended'],
  },
  NotFound: { status: 404, description: 'There is nothing of this id, or it is not yours.', codes: ['not_found'] },
  Conflict: { status: 409, description: 'The state of the object does not allow it.', codes: ['conflict'] },
  IdempotencyConflict: {
    status: 409,
    description: 'The state of the object does not allow it, or the key was used with another body.',
    codes: ['conflict', 'idempotency_key_conflict'],
  },
  BodyTooLarge: { status: 413, description: 'The body is too large.', codes: ['body_too_large'] },
  TooManyRequests: {
    status: 429,
    description: 'A limit is reached. `param` names it, and `Retry-After` says when to try again.',
    codes: ['limit_exceeded'],
  },
  InternalError: { status: 500, description: 'A defect. It has been logged.', codes: ['internal_error'] },
  NotConfigured: {
    status: 501,
    description: 'The deployment lacks a binding or a provider.',
    codes: ['not_configured'],
  },
  Unavailable: {
    status: 503,
    description: 'Restarting, overloaded or not configured. `Retry-After` says when to try again.',
    codes: ['unavailable', 'not_configured'],
  },
  DiskFull: { status: 507, description: 'The disk of the host of the workspace is full.', codes: ['disk_full'] },
  LoopDetected: { status: 508, description: 'The request came from this deployment itself.', codes: ['loop_detected'] },
  // The following are of routes that answer with the end of a run, which may have failed.
  RunRefused: {
    status: 400,
    description: 'The request does not match its schema, or the model cannot honour it.',
    codes: ['invalid_request', 'invalid_json', 'blocked_url', 'unsupported', 'context_length_exceeded'],
  },
  KeyRefused: {
    status: 401,
    description: 'The key is missing, unknown or revoked, or the provider rejects its own.',
    codes: ['invalid_api_key', 'provider_key_rejected'],
  },
  QuotaUsed: { status: 402, description: 'The quota of the provider is used up.', codes: ['insufficient_quota'] },
  RunForbidden: {
    status: 403,
    description: 'The key lacks a scope, policy forbids it, the tenant is suspended, or the provider rejects its key.',
    codes: ['insufficient_scope', 'policy', 'tenant_suspended', 'provider_key_rejected'],
  },
  ModelNotFound: {
    status: 404,
    description: 'There is no such model, or nothing of this id.',
    codes: ['not_found', 'model_not_found'],
  },
  OutputInvalid: {
    status: 422,
    description: 'The model did not answer in the requested format, not even after a repair.',
    codes: ['invalid_output'],
  },
  RateLimited: {
    status: 429,
    description: 'A limit of the tenant or of the provider is reached. `Retry-After` says when to try again.',
    codes: ['limit_exceeded', 'rate_limit_exceeded'],
  },
  ProviderFailed: { status: 502, description: 'The provider failed after all retries.', codes: ['provider_error'] },
} as const satisfies Readonly<Record<string, ErrorDescription>>
export type ErrorKind = keyof typeof kinds

/** Routes whose answer is the end of a run, which may have failed. */
const runKinds: readonly ErrorKind[] = [
  'RunRefused',
  'KeyRefused',
  'QuotaUsed',
  'RunForbidden',
  'ModelNotFound',
  'IdempotencyConflict',
  'BodyTooLarge',
  'OutputInvalid',
  'RateLimited',
  'ProviderFailed',
  'InternalError',
  'Unavailable',
]
const awaitsRun = (path: string) => path === '/v1/chat/completions' || path === '/v1/responses'
const takesModel = (path: string) => /chat|\/v1\/(runs|models)|^\/api\/sessions(\/\{id\}|\/import)?$/.test(path)

/** The kinds of errors that a route can answer with. */
export function listErrorKinds(route: ApiRoute | OpenRoute, path: string): readonly ErrorKind[] {
  const chosen = awaitsRun(path)
    ? runKinds
    : [
        ...listRequestKinds(route, path),
        ...(route.scope === null ? [] : listKeyKinds(route, path)),
        'InternalError' as const,
      ]
  const all = new Set([...chosen, ...(route.errors ?? [])])
  return [...all].filter((kind) => !(kinds[kind].status in route.responses))
}

function listRequestKinds({ body, bytes, query }: ApiRoute | OpenRoute, path: string): readonly ErrorKind[] {
  const takesBody = body !== undefined || bytes === true
  const takesInput = takesBody || query !== undefined || path.includes('{')
  return [...(takesInput ? (['BadRequest'] as const) : []), ...(takesBody ? (['BodyTooLarge'] as const) : [])]
}

/** The errors of routes with a key. */
function listKeyKinds({ method, headers = [] }: ApiRoute | OpenRoute, path: string): readonly ErrorKind[] {
  const isIdempotent = headers.some(({ name }) => name === 'Idempotency-Key')
  const kind: readonly ErrorKind[] = takesModel(path) ? ['ModelNotFound'] : path.includes('{') ? ['NotFound'] : []
  const conflict: readonly ErrorKind[] = isIdempotent ? ['IdempotencyConflict'] : method === 'get' ? [] : ['Conflict']
  return ['Unauthorized', 'Forbidden', ...kind, ...conflict, 'TooManyRequests', 'Unavailable']
}

export const renderErrorReferences = (list: readonly ErrorKind[]): Json =>
  Object.fromEntries(
    list
      .toSorted((one, other) => kinds[one].status - kinds[other].status)
      .map((kind) => [kinds[kind].status, { $ref: `#/components/responses/${kind}` }]),
  )

export function renderErrorResponses(components: Components): Json {
  components.add('Error', components.convert(errorShape, 'output'))
  const rendered = Object.entries(kinds).map(([kind, { status, description, codes }]) => {
    const schema = components.add(kind.endsWith('Error') ? kind : `${kind}Error`, {
      allOf: [
        refTo('Error'),
        {
          type: 'object',
          properties: { error: { type: 'object', properties: { code: { type: 'string', enum: codes } } } },
        },
      ],
    })
    const retry = [429, 503].includes(status) && {
      headers: { 'Retry-After': { $ref: '#/components/headers/Retry-After' } },
    }
    const example = createErrorBody({ status, code: codes[0], message: 'A sentence that says what to change.' })
    return [kind, { description, ...retry, content: { 'application/json': { schema: refTo(schema), example } } }]
  })
  return Object.fromEntries(rendered) as Json
}
