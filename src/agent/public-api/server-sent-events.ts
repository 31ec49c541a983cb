/** Our own events as server-sent events. */

import type { PlacedEvent } from '../model/event.ts'
import { publicUsage } from './usage.ts'

export const sse = (event: PlacedEvent): string =>
  `id: ${event.seq}\nevent: ${event.type}\ndata: ${JSON.stringify(publicEvent(event))}\n\n`

/** The names of the public API, where they differ from ours. */
export const publicEvent = (event: PlacedEvent): object =>
  'usage' in event ? { ...event, usage: publicUsage(event.usage) } : event
