/** Renders the events of a stream: as our own events, chat completion chunks, or the events of a response. */

import { createChunkRenderer, type CompletionHead, type CompletionSource } from '#agent/public-api/chat-completions.ts'
import { renderServerSentEvent } from '#agent/public-api/server-sent-events.ts'
import type { ResponseSource } from '#agent/public-api/responses/stream.ts'
import { dropFailureNotice } from '#agent/public-api/run-failure.ts'
import type { RenderEvent } from './streams.ts'

export type StreamFormat =
  /** Only events behind the number `after`. */
  | { readonly as: 'events'; readonly after?: number | undefined }
  | { readonly as: 'chat'; readonly head: CompletionHead; readonly usage: boolean }
  | { readonly as: 'response'; readonly after?: number | undefined }

export type OpenRender = (source: ResponseSource & CompletionSource) => RenderEvent

/** Loads what renders a format, so that a stream is opened without a pause behind its past events. */
export async function loadRender(format: StreamFormat): Promise<OpenRender> {
  if (format.as === 'events') return () => renderEventsAfter(format.after ?? -1)
  if (format.as === 'chat') return (source) => dropFailureNotice(renderChunks(format, source))
  const { createResponseRenderer } = await import('#agent/public-api/responses/stream.ts')
  return (source) => dropFailureNotice(createResponseRenderer(source, format.after))
}

const renderEventsAfter =
  (after: number): RenderEvent =>
  (event) =>
    event.seq > after ? renderServerSentEvent(event) : ''

/** The time is that of the run's first event, so that repeated streams are equal. */
function renderChunks({ head, usage }: Extract<StreamFormat, { as: 'chat' }>, source: CompletionSource): RenderEvent {
  let chunks: RenderEvent | undefined
  return (event) => {
    chunks ??= createChunkRenderer({ ...head, created: Math.floor(Date.parse(event.at) / 1_000) }, source, usage)
    return chunks(event)
  }
}
