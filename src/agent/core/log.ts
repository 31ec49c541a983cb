/**
 * Prints the log: one line of JSON for each entry. Every text passes the redactor that the objects provide, so that a log
 * contains no secret. All other code logs through this module.
 */

import { maskSecrets } from './secrets/mask-secrets.ts'

export type LogFields = {
  readonly error?: unknown
  readonly request_id?: string | undefined
  readonly tenant_id?: string | undefined
  readonly session_id?: string | undefined
  readonly run_id?: string | undefined
  /** An id under another name is neither found nor does it choose the redactor. */
  readonly requestId?: never
  readonly tenantId?: never
  readonly sessionId?: never
  readonly runId?: never
  readonly [name: string]: unknown
}

type Level = 'warn' | 'error'
/** Redacts a text that concerns a tenant, or none. */
type LogRedactor = (text: string, tenantId: string | undefined) => string

const maxTextChars = 4_000
const maxCauses = 5
let redactText: LogRedactor = maskSecrets
let readContext: () => LogFields = () => ({})

/** Sets the redactor of this isolate. */
export function redactLogsWith(redactor: LogRedactor): void {
  redactText = redactor
}

/** Sets how entries get the ids of the work that they belong to. Fields of the entry itself have precedence. */
export function readLogContextWith(reader: () => LogFields): void {
  readContext = reader
}

/** `event` is a fixed name that can be searched for, such as `history.unreachable`. */
export const log = {
  warn: (event: string, message: string, fields: LogFields = {}): void => print('warn', { event, message }, fields),
  error: (event: string, message: string, fields: LogFields = {}): void => print('error', { event, message }, fields),
}

function print(level: Level, entry: Readonly<Record<'event' | 'message', string>>, own: LogFields): void {
  const fields: LogFields = { ...entry, ...readContext(), ...withoutUndefined(own) }
  const tenantId = typeof fields['tenant_id'] === 'string' ? fields['tenant_id'] : undefined
  const values = Object.entries(withoutUndefined(fields)).map(([name, value]) => [
    name,
    toLogged(value, (text) => redactText(text, tenantId)),
  ])
  console[level](JSON.stringify({ level, ...Object.fromEntries(values) }))
}

const withoutUndefined = (fields: LogFields): LogFields =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined))

function toLogged(value: unknown, redact: (text: string) => string, depth = 0): unknown {
  if (value instanceof Error) {
    const { name, message, stack, cause } = value
    const inner = cause === undefined || depth >= maxCauses ? undefined : toLogged(cause, redact, depth + 1)
    return { name, message: truncate(redact(message)), stack: truncate(redact(stack ?? '')), cause: inner }
  }
  if (typeof value === 'number' || typeof value === 'boolean') return value
  return truncate(redact(typeof value === 'string' ? value : (JSON.stringify(value) ?? String(value))))
}

const truncate = (text: string) => (text.length > maxTextChars ? `${text.slice(0, maxTextChars)}…` : text)
