/** How a stream is written: our own events, chat completion chunks, or the events of a response. */

import { chatChunks, type ChatHead } from '../../agent/public-api/chat-completions.ts'
import { sse } from '../../agent/public-api/events.ts'
import type { ResponseHead } from '../../agent/public-api/responses.ts'
import { responseEvents } from '../../agent/public-api/responses-stream.ts'
import type { Render } from './streams.ts'

export type Format =
  | { readonly as: 'events' }
  | { readonly as: 'chat'; readonly head: ChatHead; readonly usage: boolean }
  | { readonly as: 'response'; readonly head: ResponseHead; readonly after?: number | undefined }

export function renderOf(format: Format): Render {
  if (format.as === 'events') return sse
  return format.as === 'chat' ? chunksOf(format) : responseEvents(format.head, format.after)
}

/** The time is that of the run's first event: the same whenever it is told. */
function chunksOf({ head, usage }: Extract<Format, { as: 'chat' }>): Render {
  let chunks: Render | undefined
  return (event) => {
    chunks ??= chatChunks({ ...head, created: Math.floor(Date.parse(event.at) / 1_000) }, usage)
    return chunks(event)
  }
}
