/** The parts of a session that its paid calls use. */

import type { MediaUse } from '#agent/routing/media-providers.ts'
import { chooseMedia, type MediaChoice } from '#agent/routing/media-vendors.ts'
import { MediaFailure } from '#backends/media/vendor.ts'
import type { MediaTransport } from '#durable/models/media/vendor-transport.ts'
import type { SideCall } from '#durable/models/side-call.ts'
import type { SessionBilling } from '#durable/tenant/billing/session-billing.ts'
import type { Turn } from '#agent/core/turn.ts'
import type { ToolPorts } from '../tools/tool-ports.ts'
import type { MediaRows } from './media-rows.ts'

export type MediaSession = {
  readonly billing: () => SessionBilling
  readonly openTurn: () => Turn | undefined
  readonly side: () => SideCall
  /** The number of the last message, which is the same for all attempts of a call. */
  readonly step: () => number
  /** Of the chat of the session. */
  readonly platform: () => string | undefined
  readonly arm: () => void
  readonly hasTable: boolean
}

export type MediaHost = ToolPorts & MediaSession & { readonly rows: MediaRows }

/** Throws when there is no vendor with a key. `wanted`: replaces the settings. */
export function requireMedia<Use extends MediaUse>(
  { deployment }: MediaHost,
  use: Use,
  wanted?: Parameters<typeof chooseMedia>[2],
): MediaChoice<Use> {
  const choice = chooseMedia(use, deployment(), wanted)
  if ('reason' in choice) throw new MediaFailure('not_configured', choice.reason)
  return choice
}

export const createTransport = ({ env, guardedFetch }: MediaHost, signal?: AbortSignal): MediaTransport => ({
  env,
  guardedFetch,
  signal,
})
