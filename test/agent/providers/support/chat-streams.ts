/** Creates chat completion streams and reads them. */

import type { Activity } from '#agent/core/dialect.ts'
import { readChatStream } from '#agent/providers/openai/chat-stream.ts'
import { skipSleep } from './chunked-response.ts'

export const choiceEvent = (choice: object, fields: object = {}) =>
  `data: ${JSON.stringify({ choices: [{ index: 0, ...choice }], ...fields })}\n\n`
export const deltaEvent = (delta: object, finishReason: string | null = null) =>
  choiceEvent({ delta, finish_reason: finishReason })
export const callEvent = (fields: object) => deltaEvent({ tool_calls: [fields] })
export const callFragment = (index: number | undefined, id: string | undefined, json: string, name?: string) =>
  callEvent({
    ...(index !== undefined && { index }),
    ...(id !== undefined && { id }),
    function: { ...(name !== undefined && { name }), arguments: json },
  })
export const doneEvent = 'data: [DONE]\n\n'
export const finish = (reason: string) => deltaEvent({}, reason) + doneEvent

const encoder = new TextEncoder()

/** `size`: bytes per chunk. `error`: the body fails with it instead of closing. */
export type StreamOptions = { readonly size?: number; readonly error?: Error }

function createResponse(text: string, { size = 1_000_000, error }: StreamOptions = {}): Response {
  const bytes = encoder.encode(text)
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      for (let at = 0; at < bytes.length; at += size) controller.enqueue(bytes.slice(at, at + size))
      if (error) controller.error(error)
      else controller.close()
    },
  })
  return new Response(body, { headers: { 'content-type': 'text/event-stream' } })
}

export async function readStream(text: string, options?: StreamOptions) {
  const deltas: string[] = []
  const activities: (Activity | undefined)[] = []
  const { message, usage } = await readChatStream(createResponse(text, options), {
    onDelta: (delta) => deltas.push(`${delta.of}: ${delta.text}`),
    onActivity: (activity) => activities.push(activity),
    sleep: skipSleep,
  })
  return { message, usage, deltas, activities }
}
