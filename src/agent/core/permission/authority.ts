/**
 * Defines an authority: for whom a call acts, and what it may do. It is made where a request enters, travels with every
 * command, is stored with the turn and reaches every tool. It is only ever narrowed.
 */

import { joinMarks, type Marks } from '../marks.ts'
import { isRiskAbove, type Risk } from './approval.ts'

export const scopes = ['chat', 'read', 'write', 'jobs', 'approve', 'admin'] as const
export type Scope = (typeof scopes)[number]

/**
 * A key of the tenant, or a person of an identity provider, who has the id `login:<hash of issuer and subject>`. `rules`:
 * the ids of all whose end ends the access too, joined by `+`: the login rules that the token matched, or a connected app
 * and the key that it acts for. `name`: for display only, as the person or the app may choose it.
 */
export type KeyPrincipal = {
  readonly kind: 'key'
  readonly id: string
  readonly rules?: string
  readonly name?: string
}

export type Principal =
  | KeyPrincipal
  /** A person in a chat, by the id of the platform. */
  | { readonly kind: 'person'; readonly connection: string; readonly person: string; readonly isAdmin: boolean }
  | { readonly kind: 'job'; readonly id: string }
  /** A background process; `id` is the session that started it. */
  | { readonly kind: 'process'; readonly id: string }
  /** The parent session of a child. */
  | { readonly kind: 'session'; readonly id: string }

/** Names a principal among those of its tenant. The rules and the name of a person may change between two requests. */
export const identityOf = (principal: Principal) =>
  principal.kind === 'key' ? { kind: principal.kind, id: principal.id } : principal

/** The scopes of a key, a login rule or a person, limited by a role of the tenant's settings if there is one. */
export type Entitlement = { readonly scopes: readonly Scope[]; readonly role?: string }

export type Authority = {
  readonly tenantId: string
  readonly principal: Principal
  readonly scopes: readonly Scope[]
  /** Lists of toolsets and tools. Only tools that are in each list may be used. Absent: no limit. */
  readonly toolBounds?: readonly (readonly string[])[]
  /** The one of them that the sender chose for this request alone: later turns are not limited by it. */
  readonly ownBounds?: readonly string[]
  /** Calls with a higher risk never run. Absent: no limit. */
  readonly maxRisk?: Risk
  /** Absent: no role limits the authority. Roles are resolved again while a turn runs (roles.ts). */
  readonly entitlements?: readonly Entitlement[]
  /** The chat to which the authority is limited. */
  readonly channel?: { readonly connection: string; readonly chat: string }
  /** `untrusted`: content that strangers wrote has reached the call. */
  readonly taint: 'none' | 'untrusted'
  /** Read by the turn that started the call, such as the parent of a subagent. Absent: nothing. */
  readonly exposure?: Marks
  /** The key that a subagent's work began with: revoking it ends the subagent. */
  readonly keyId?: string
  /** The key or person for whom another principal acts, as `holderOf` names it. */
  readonly onBehalfOf?: string
  /** The rights of others who contributed to the work. Each different set is listed once. They limit it already. */
  readonly contributors?: readonly ContributedRights[]
  /** Several keys or people have contributed: what belongs to one of them alone does not reach the work. */
  readonly isShared?: true
  /** The rights before others who contribute to the conversation took some away. They explain a refusal and allow nothing. */
  readonly withoutOthers?: Rights
  /** The request that the work began with, for logs and traces. It allows nothing. */
  readonly requestId?: string
}

/** The rights of a contributor. `entitlements` are resolved again while the work goes on. */
export type ContributedRights = Pick<Authority, 'scopes' | 'toolBounds' | 'maxRisk' | 'entitlements' | 'channel'>

export const hasScope = ({ scopes: held }: Pick<Authority, 'scopes'>, scope: Scope): boolean => held.includes(scope)

/** The part of an authority that a role limits. */
export type Rights = Pick<Authority, 'scopes' | 'toolBounds' | 'maxRisk'>
type Narrowing = Partial<Rights & Pick<Authority, 'channel' | 'taint'>>

/**
 * Intersects the scopes and the tools, takes the lower risk, and adds a channel or a taint. Tenant, principal and a channel that is there stay.
 * `by` may be the authority of a message that joins a turn: the result may then do only what both may.
 */
export function narrow(authority: Authority, by: Narrowing): Authority {
  const channel = authority.channel ?? by.channel
  const common = by.scopes && authority.scopes.filter((scope) => by.scopes?.includes(scope))
  const toolBounds = joinBounds(authority.toolBounds, by.toolBounds)
  const maxRisk = lowerRisk(authority.maxRisk, by.maxRisk)
  return {
    ...authority,
    scopes: common ?? authority.scopes,
    ...(toolBounds && { toolBounds }),
    ...(maxRisk && { maxRisk }),
    ...(channel && { channel }),
    taint: by.taint === 'untrusted' ? by.taint : authority.taint,
  }
}

/** Equal lists are kept once, so that many messages of one sender do not make the authority of a turn longer. */
function joinBounds(held: Authority['toolBounds'], added: Authority['toolBounds']): Authority['toolBounds'] {
  if (!added) return held
  const known = new Set(held?.map((bound) => JSON.stringify(bound)))
  return [...(held ?? []), ...added.filter((bound) => !known.has(JSON.stringify(bound)))]
}

const lowerRisk = (one: Risk | undefined, other: Risk | undefined): Risk | undefined =>
  other === undefined || (one !== undefined && isRiskAbove(other, one)) ? one : other

/**
 * Acts for the system itself: a session that reports what it spends, or a job that maintains a tenant. Without scopes it
 * can only count and report.
 */
export const systemAuthority = (
  tenantId: string,
  principal: Extract<Principal, { kind: 'session' | 'job' | 'process' }>,
  held: readonly Scope[] = [],
): Authority => ({ tenantId, principal, scopes: held, taint: 'none' })

/** The marks that the authority of a turn brings along, such as those of a subagent. */
export const marksOfAuthority = ({ taint, exposure }: Pick<Authority, 'taint' | 'exposure'>): Marks =>
  joinMarks(exposure, taint === 'untrusted' ? { isForeign: true } : undefined)

/** Returns the authority of calls of a turn that holds these marks. */
export function withMarks(authority: Authority, marks: Marks): Authority {
  const exposure = joinMarks(authority.exposure, marks)
  return exposure.isForeign || exposure.isPrivate ? { ...authority, exposure } : authority
}

/** Returns the same rights in the name of another principal: a process, a job or a child of the turn. */
export function actAs(authority: Authority, principal: Principal): Authority {
  const { withoutOthers: _, ...kept } = authority
  return { ...kept, principal, onBehalfOf: holderOf(authority) }
}

/** Names the key or person whose work an authority does. A key that is replaced by another one is another holder. */
export function holderOf({ onBehalfOf, principal }: Pick<Authority, 'onBehalfOf' | 'principal'>): string {
  if (onBehalfOf !== undefined) return onBehalfOf
  return principal.kind === 'person'
    ? `person:${principal.connection}:${principal.person}`
    : `${principal.kind}:${principal.id}`
}

/** The name of a chat in rules, directories and reaches. */
export const chatName = ({
  connection,
  chat,
  chatKey = chat,
}: NonNullable<Authority['channel']> & { readonly chatKey?: string }): string => `${connection}:${chatKey}`

/** The earlier sessions that may be read: all of the tenant, those of one chat, or none but the current one. */
export type HistoryReach =
  | { readonly kind: 'tenant' }
  /** By its name. */
  | { readonly kind: 'chat'; readonly chat: string }
  | { readonly kind: 'session' }

export function historyReach({ scopes: held, channel }: Pick<Authority, 'scopes' | 'channel'>): HistoryReach {
  if (held.includes('read')) return { kind: 'tenant' }
  return channel ? { kind: 'chat', chat: chatName(channel) } : { kind: 'session' }
}

/**
 * Whether a role takes tools or risks away from somebody who contributes. What acts in every session of the tenant, such as
 * its memory and its skills, is not theirs to write: turns of others would act on their words.
 */
export const isLimitedByRole = ({ contributors = [], ...own }: Authority): boolean =>
  [own, ...contributors].some(
    ({ entitlements, toolBounds, maxRisk }) => maxRisk !== undefined || (entitlements && toolBounds) !== undefined,
  )
