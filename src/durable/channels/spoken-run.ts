/** Reads a run as it is spoken in a telephone call: its events in order, and what it asks the person. */

import type { SessionEvent } from '#agent/core/event.ts'

/** `body`: server-sent events. */
export async function* readRunEvents(body: ReadableStream<Uint8Array>): AsyncGenerator<SessionEvent> {
  let open = ''
  const text = body.pipeThrough(new TextDecoderStream() as TransformStream<Uint8Array, string>)
  for await (const chunk of text) {
    const frames = (open + chunk).split('\n\n')
    open = frames.pop() ?? ''
    for (const frame of frames) {
      const data = /^data: (.*)$/m.exec(frame)?.[1]
      if (data !== undefined) yield JSON.parse(data) as SessionEvent
    }
  }
}

const labels = { once: 'allow it once', session: 'allow it from now on', always: 'always allow it', deny: 'deny it' }

/** The numbers are those by which a typed answer chooses. */
export function describePending(
  event: Extract<SessionEvent, { type: 'approval.request' | 'question.request' }>,
): string {
  const isQuestion = event.type === 'question.request'
  const asked = isQuestion ? event.question : `May I call ${event.tool.replaceAll('_', ' ')}?`
  const choices = isQuestion ? event.choices : event.choices.map((choice) => labels[choice])
  const options = choices.map((choice, n) => `Press ${n + 1}: ${choice}.`)
  return [asked, ...options].join(' ')
}
