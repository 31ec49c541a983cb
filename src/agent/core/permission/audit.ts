/** Defines the entries of the audit log: what was done in a tenant, to what, when and by whom. */

import type { ApprovalDecision } from './approval.ts'
import type { Authority } from './authority.ts'
import { maskSecrets, maskSecretsInValue } from '../secrets/mask-secrets.ts'

/** Actions of people, keys and the operator. */
export const auditActions = [
  'key.created',
  'key.revoked',
  'login.created',
  'login.deleted',
  'login.accepted',
  'login.refused',
  'tenant.created',
  'tenant.changed',
  'tenant.exported',
  'tenant.restored',
  'tenant.deleted',
  'tenant.key_rotated',
  'settings.changed',
  'credential.added',
  'credential.removed',
  'secret.added',
  'secret.removed',
  'vault.added',
  'vault.changed',
  'vault.removed',
  'skill.created',
  'skill.changed',
  'skill.deleted',
  'skill.published',
  'mcp.created',
  'mcp.changed',
  'mcp.deleted',
  'mcp.approved',
  'mcp.signed_in',
  'mcp.signed_out',
  'app.connected',
  'app.disconnected',
  'plugin.created',
  'plugin.changed',
  'plugin.approved',
  'plugin.deleted',
  'hook.created',
  'hook.changed',
  'hook.deleted',
  'memory.restored',
  'memory.forgotten',
  'project.created',
  'project.changed',
  'project.deleted',
  'channel.created',
  'channel.changed',
  'channel.deleted',
  'pairing.approved',
  'pairing.removed',
  'session.exported',
  'session.shared',
  'session.unshared',
  'session.deleted',
] as const
export type AuditAction = (typeof auditActions)[number]

/** Decisions about tool calls. */
export const auditDecisions = ['approval.asked', 'approval.decided'] as const
export type AuditDecision = (typeof auditDecisions)[number]

export type AuditEvent = {
  /** Milliseconds since 1970. */
  readonly at: number
  /** `key:<id>`, `key:login:<hash>:<name>`, `person:<connection>:<id>` or another principal. Empty: the system decided by its rules. */
  readonly actor: string
  /** Empty when the event belongs to no session. */
  readonly sessionId: string
  readonly runId: string
} & (
  | { readonly kind: AuditAction; readonly body: AuditedAction }
  | { readonly kind: AuditDecision; readonly body: ApprovalDecision }
)

export type AuditedAction = {
  /** The id of what was changed. */
  readonly subject: string
  /** Facts about the action. They never contain a secret. */
  readonly details?: Readonly<Record<string, unknown>>
  readonly changes?: readonly AuditedChange[]
}

/** A field with its values; null when it has none. */
export type AuditedChange = { readonly field: string; readonly before: unknown; readonly after: unknown }

export type NewAuditEvent = AuditedAction & {
  readonly at: number
  readonly kind: AuditAction
  readonly actor: string
  readonly sessionId?: string
}

export const createAuditEvent = ({ at, kind, actor, sessionId = '', ...body }: NewAuditEvent): AuditEvent => ({
  at,
  kind,
  actor,
  sessionId,
  runId: '',
  body,
})

/** Names the principal of an authority in the log. */
export function actorOf({ principal }: Pick<Authority, 'principal'>): string {
  if (principal.kind === 'person') return `person:${principal.connection}:${principal.person}`
  const named = principal.kind === 'key' && principal.name !== undefined ? `:${principal.name}` : ''
  return `${principal.kind}:${principal.id}${named}`
}

/** Only a person has a name in the log; rules, modes and models decide for the system. */
export const createDecisionEvent = (sessionId: string, runId: string, decision: ApprovalDecision): AuditEvent => ({
  at: decision.at,
  kind: decision.did === 'asked' ? 'approval.asked' : 'approval.decided',
  actor: decision.actor ?? '',
  sessionId,
  runId,
  body: decision,
})

const maxChanges = 100
const maxValueChars = 500
/** Headers of providers often contain keys under any name. */
const secretField = /^providers\.[^.]*\.headers(?:\.|$)/

/** Lists the changed fields of two JSON objects, with secrets masked and long values truncated. */
export function listChanges(before: unknown, after: unknown, path = ''): readonly AuditedChange[] {
  if (JSON.stringify(before) === JSON.stringify(after)) return []
  if (!isPlain(before) || !isPlain(after))
    return [{ field: path, before: toLogged(before, path), after: toLogged(after, path) }]
  const keys = [...new Set([...Object.keys(before), ...Object.keys(after)])]
  const nested = keys.flatMap((key) => listChanges(before[key], after[key], path ? `${path}.${key}` : key))
  return nested.slice(0, maxChanges)
}

function toLogged(value: unknown, path: string): unknown {
  if (value === undefined) return null
  if (secretField.test(path)) return '***'
  const masked = maskSecretsInValue(value)
  const text = JSON.stringify(masked)
  return text.length > maxValueChars ? `${maskSecrets(text).slice(0, maxValueChars)}…` : masked
}

const isPlain = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
