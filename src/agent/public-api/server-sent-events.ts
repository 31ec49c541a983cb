/** Renders the events of a session as server-sent events. */

import type { SessionEvent } from '#agent/core/event.ts'
import { toPublicUsage } from './usage.ts'

export const renderServerSentEvent = (event: SessionEvent): string =>
  `id: ${event.seq}\nevent: ${event.type}\ndata: ${JSON.stringify(toPublicEvent(event))}\n\n`

/** Converts an event to the field names of the public API. */
export const toPublicEvent = (event: SessionEvent): object =>
  'usage' in event ? { ...event, usage: toPublicUsage(event.usage) } : event
