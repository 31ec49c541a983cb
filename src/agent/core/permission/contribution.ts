/**
 * Combines the authorities of everybody who contributes to a turn: it may do only what all of them may. This is the only
 * place that makes the authority of a turn, so a turn without a contributor does not compile.
 */

import { noMarks } from '../marks.ts'
import {
  type Authority,
  type ContributedRights,
  holderOf,
  narrow,
  type Rights,
  scopes as allScopes,
  withMarks,
} from './authority.ts'

/** The authority of a turn, a goal or another plan of later turns. Only this file sets the mark. */
export type TurnAuthority = Authority & { readonly isCombined: true }

/** The first one names the principal. */
export type Contributors = readonly [Authority, ...Authority[]]

/** Returns the authority of a turn that is made of what these have contributed. */
export const combineAuthorities = ([first, ...others]: Contributors): TurnAuthority =>
  others.reduce<TurnAuthority>(joinAuthority, { ...first, isCombined: true })

/** Returns the authority of work after another one has contributed to it: the same object when that changes nothing. */
export function joinAuthority(held: TurnAuthority, by: Authority): TurnAuthority {
  const rights = intersect(held, by)
  const contributors = listContributors(held, by, rights)
  const isShared = held.isShared ?? by.isShared ?? (holderOf(held) === holderOf(by) ? undefined : true)
  const joint: TurnAuthority = {
    ...rights,
    isCombined: true,
    ...(contributors.length > 0 && { contributors }),
    ...(isShared && { isShared }),
  }
  return isEqual(joint, held) ? held : joint
}

/** Joins somebody whose words are in the conversation of a turn, and notes the rights that come back with a new one. */
export function joinSpeaker(held: TurnAuthority, by: Authority): TurnAuthority {
  const joint = joinAuthority(held, by)
  const own = limitsOf(held)
  return held.withoutOthers || isEqual(limitsOf(joint), own) ? joint : { ...joint, withoutOthers: own }
}

const limitsOf = ({ scopes, toolBounds, maxRisk }: Rights): Rights => ({
  scopes,
  ...(toolBounds && { toolBounds }),
  ...(maxRisk && { maxRisk }),
})

function intersect(held: Authority, by: Authority): Authority {
  const narrowed = withMarks(narrow(held, { ...by, scopes: withChat(by.scopes) }), by.exposure ?? noMarks)
  const isElsewhere = held.channel && by.channel && !isEqual(held.channel, by.channel)
  return withSharedBounds(isElsewhere ? { ...narrowed, channel: nowhere } : narrowed, by)
}

/** A list that limits another contributor too is not the choice of one request any more. */
function withSharedBounds({ ownBounds, ...joint }: Authority, { toolBounds, ownBounds: others }: Authority): Authority {
  const isShared = toolBounds?.some((bound) => isEqual(bound, ownBounds) && !isEqual(bound, others))
  return ownBounds && !isShared ? { ...joint, ownBounds } : joint
}

/** A contributor who took nothing away, and has no role that may do so later, need not be known. */
function listContributors(held: Authority, by: Authority, joint: Authority): readonly ContributedRights[] {
  const isLess = !isEqual(rightsOf(joint), rightsOf(held))
  const hasOtherRole = by.entitlements !== undefined && !isEqual(by.entitlements, held.entitlements)
  const { contributors: known = [] } = held
  const { contributors: brought = [] } = by
  return addNew(known, [...(isLess || hasOtherRole ? [rightsOf(by)] : []), ...brought])
}

/** Returns the authority after a child has handed back who contributed to it. The limits of the child itself do not count. */
export const joinContributors = (
  held: TurnAuthority,
  contributors: readonly ContributedRights[] = [],
): TurnAuthority => {
  const { tenantId } = held
  const others = contributors.map((rights) => ({ tenantId, principal: ofChild, taint: 'none' as const, ...rights }))
  return combineAuthorities([held, ...others])
}

/** The rights of somebody whose words or files later turns of a conversation read. */
export type EarlierRights = ContributedRights & { readonly taint?: 'untrusted' }

/**
 * Returns the authority of a turn that reads what these have contributed before. A profile stays in reach: it is that of
 * the sender, as the others do not send this turn.
 */
export const joinEarlier = (held: TurnAuthority, earlier: readonly EarlierRights[]): TurnAuthority => {
  const { tenantId, principal, onBehalfOf } = held
  const sender = { tenantId, principal, taint: 'none' as const, ...(onBehalfOf !== undefined && { onBehalfOf }) }
  return earlier.reduce<TurnAuthority>((joint, rights) => joinSpeaker(joint, { ...sender, ...rights }), held)
}

/** Lists the rights that limit later turns of a conversation: those of this authority and of its contributors. */
export const listEarlierRights = (by: Authority): readonly EarlierRights[] =>
  [
    { ...rightsOf(withoutOwnBounds(by)), ...(by.taint === 'untrusted' && { taint: by.taint }) },
    ...(by.contributors ?? []),
  ].filter((rights) => !isUnlimited(rights))

function withoutOwnBounds({ toolBounds, ownBounds, ...by }: Authority): Authority {
  const bounds = toolBounds?.filter((bound) => !ownBounds || !isEqual(bound, ownBounds))
  return bounds?.length ? { ...by, toolBounds: bounds } : by
}

const isUnlimited = ({ toolBounds, maxRisk, entitlements, channel, taint, scopes: held }: EarlierRights): boolean =>
  !toolBounds && !maxRisk && !entitlements && !channel && !taint && allScopes.every((scope) => held.includes(scope))

const ofChild = { kind: 'session', id: 'contributors' } as const

/** A chat that no platform has: two contributors from different chats reach neither. */
const nowhere = { connection: '', chat: '' } as const

/** The scope `chat` lets somebody begin a turn. One that has begun keeps it. */
const withChat = (scopes: Authority['scopes']): Authority['scopes'] => [...scopes, 'chat']

const rightsOf = ({ scopes, toolBounds, maxRisk, entitlements, channel }: ContributedRights): ContributedRights => ({
  scopes,
  ...(toolBounds && { toolBounds }),
  ...(maxRisk && { maxRisk }),
  ...(entitlements && { entitlements }),
  ...(channel && { channel }),
})

function addNew(held: readonly ContributedRights[], added: readonly ContributedRights[]): readonly ContributedRights[] {
  const known = new Map([...held, ...added].map((rights) => [JSON.stringify(rights), rights]))
  return [...known.values()]
}

const isEqual = (one: unknown, other: unknown): boolean => JSON.stringify(one) === JSON.stringify(other)
