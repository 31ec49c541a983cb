/**
 * Keeps who has contributed to the current conversation of a session, and narrows its turns by them: their words, files and
 * settings are still read when they have nothing to do with the turn any more.
 */

import type { Authority } from '#agent/core/permission/authority.ts'
import {
  type EarlierRights,
  joinEarlier,
  listEarlierRights,
  type TurnAuthority,
} from '#agent/core/permission/contribution.ts'
import { isCurrent } from '#durable/storage/conversation-span.ts'
import type { Contribution, SessionMetadata } from '#durable/storage/session-metadata.ts'
import type { Session } from '../session.ts'

type Contributed = Pick<Session, 'meta' | 'updateMeta' | 'store'>

/** Older ones of conversations that were left are dropped. */
const maxContributions = 500

const isSame = (one: EarlierRights, other: EarlierRights): boolean => JSON.stringify(one) === JSON.stringify(other)

/** Returns the authority of a turn that reads the current conversation. */
export function joinConversation({ meta }: Pick<Session, 'meta'>, authority: TurnAuthority): TurnAuthority {
  const { contributions = [], settingsBy = [], project } = meta
  const earlier = contributions.filter(({ seq }) => isCurrent(meta, seq)).map(({ rights }) => rights)
  return joinEarlier(authority, [...earlier, ...settingsBy, ...(project?.by ?? [])])
}

/** Every later turn of the conversation reads what this one contributes now. `isFile`: an undo does not remove it. */
export const recordContribution = (
  session: Contributed,
  by: Authority,
  options?: { readonly isFile?: boolean },
): void => recordRights(session, listEarlierRights(by), options)

/** As `recordContribution`, for those who have contributed elsewhere. */
export function recordRights(
  session: Contributed,
  rights: readonly EarlierRights[],
  { isFile = false }: { readonly isFile?: boolean } = {},
): void {
  const { meta, store } = session
  const { contributions: known = [] } = meta
  const seq = store.lastMessageSeq() + 1
  const isKnown = (each: EarlierRights) =>
    known.some((one) => (one.isFile ?? false) === isFile && isCurrent(meta, one.seq) && isSame(one.rights, each))
  const added = rights
    .filter((each) => !isKnown(each))
    .map((each): Contribution => ({ seq, rights: each, ...(isFile && { isFile }) }))
  if (added.length) session.updateMeta({ contributions: [...known, ...added].slice(-maxContributions) })
}

/** Drops what belongs to messages that are undone. */
export const contributionsBefore = ({ contributions }: SessionMetadata, from: number): Partial<SessionMetadata> =>
  contributions ? { contributions: contributions.filter(({ seq, isFile }) => isFile === true || seq < from) } : {}

/** The settings act in every turn until they are empty again. */
export function recordSettings(
  { meta }: Pick<Session, 'meta'>,
  by: Authority,
  settings: object,
): Partial<SessionMetadata> {
  if (!Object.keys(settings).length) return { settingsBy: undefined }
  const { settingsBy: known = [] } = meta
  const added = listEarlierRights(by).filter((rights) => !known.some((one) => isSame(one, rights)))
  return added.length ? { settingsBy: [...known, ...added] } : {}
}
