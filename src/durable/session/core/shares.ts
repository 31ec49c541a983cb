/** Keeps which parts of a conversation are shared with everybody who has the link, and until when. */

import { clock } from '#durable/platform/clock.ts'
import type { Share } from '#durable/storage/session-metadata.ts'
import type { Session } from '../session.ts'

const maxShares = 50

const isOpen = ({ expiresAt }: Share): boolean => expiresAt === undefined || expiresAt > clock.now()

/** Without those that have expired. */
export const listShares = ({ meta }: Pick<Session, 'meta'>): readonly Share[] => (meta.shares ?? []).filter(isOpen)

/** Shares what has been said so far, and nothing that is said later. */
export function addShare(session: Session, id: string, expiresAt: number | undefined): Share | 'empty' | 'full' {
  const through = session.store.lastMessageSeq()
  if (through === 0) return 'empty'
  const open = listShares(session)
  if (open.length >= maxShares) return 'full'
  const share: Share = { id, createdAt: clock.now(), through, ...(expiresAt !== undefined && { expiresAt }) }
  session.updateMeta({ shares: [...open, share] })
  return share
}

/** False when there is no such share. */
export function removeShare(session: Session, id: string): boolean {
  const open = listShares(session)
  const left = open.filter((one) => one.id !== id)
  if (left.length === open.length) return false
  session.updateMeta({ shares: left })
  return true
}
