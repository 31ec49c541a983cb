/** Provides what paid media calls need from their session. Read at each use: parts of the session are made later. */

import type { MediaSession } from '#durable/turn/media/media-host.ts'
import type { SessionStore } from '#durable/storage/store.ts'

/** The parts of the session. */
type Owner = Readonly<{
  billing: ReturnType<MediaSession['billing']>
  side: ReturnType<MediaSession['side']>
  store: SessionStore
  meta: { readonly origin?: { readonly platform: string } }
  journal: { readonly hasTable: (table: 'media_call') => boolean }
  arm: () => void
}>

export const mediaSessionOf = (session: Owner): MediaSession => ({
  billing: () => session.billing,
  openTurn: () => (session.store.hasOpenTurn ? session.store.current() : undefined),
  side: () => session.side,
  step: () => session.store.lastMessageSeq(),
  platform: () => session.meta.origin?.platform,
  arm: () => session.arm(),
  hasTable: session.journal.hasTable('media_call'),
})
