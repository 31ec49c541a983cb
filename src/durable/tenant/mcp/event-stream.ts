/** Reads server-sent events, and notes how far a stream was read so that another request can go on. */

import { createParser } from 'eventsource-parser'
import { answersTo, parseMessages, type RpcMessage } from '#agent/mcp/protocol.ts'

export type SseEvent = { readonly event: string; readonly data: string }

/** How far a stream was read, and after which pause it may be opened again. */
export type StreamPosition = { eventId?: string; retryMs?: number }

/** Reads the events of a response. `position` is kept up to date; errors become what `toError` makes of them. */
export async function* readEvents(
  response: Response,
  toError: (error: unknown) => Error,
  position: StreamPosition = {},
): AsyncGenerator<SseEvent> {
  const found: SseEvent[] = []
  const parser = createParser({
    onEvent: ({ event = 'message', data }) => found.push({ event, data }),
    onRetry: (ms) => (position.retryMs = ms),
  })
  const decoder = new TextDecoder()
  const reader = response.body?.getReader()
  if (!reader) return
  let line = ''
  try {
    for (;;) {
      const { done, value } = await reader.read()
      const text = done ? '\n\n' : decoder.decode(value, { stream: true })
      line = noteEventId(line + text, position)
      parser.feed(text)
      yield* found.splice(0)
      if (done) return
    }
  } catch (error) {
    throw toError(error)
  } finally {
    // Also when the answer has arrived: the server would keep the stream open.
    await reader.cancel().catch(() => undefined)
  }
}

/** Events without data have an id too, and the parser leaves them out. Returns the line that is not whole yet. */
function noteEventId(text: string, position: StreamPosition): string {
  for (const [, id = ''] of text.matchAll(/^id: ?([^\r\n]{1,1000})[\r\n]/gm)) position.eventId = id
  return text.slice(text.lastIndexOf('\n') + 1).slice(0, 2_000)
}

export const isStream = ({ headers }: Response): boolean =>
  /^text\/event-stream\b/i.test(headers.get('content-type') ?? '')
export const isJson = ({ headers }: Response): boolean =>
  /^application\/(?:[\w.-]+\+)?json\b/i.test(headers.get('content-type') ?? '')

/** Reads no further than the answer, because servers may keep a stream open. */
export async function firstAnswer(
  events: AsyncGenerator<SseEvent>,
  id: RpcMessage['id'],
): Promise<RpcMessage | undefined> {
  for await (const { data } of events) {
    const found = parseMessages(data).find((message) => answersTo(message, id))
    if (found) return found
  }
  return undefined
}
