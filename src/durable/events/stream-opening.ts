/**
 * Watches the beginning of a stream: a run that fails before its first byte is answered with a status instead. The first
 * byte of a good answer is not delayed, because no byte exists before it.
 */

import { isRunEnd } from '#agent/core/event.ts'
import { type RunFailure, toRunFailure } from '#agent/public-api/run-failure.ts'
import { clock } from '#durable/platform/clock.ts'
import type { RenderEvent } from './streams.ts'

/** After this the headers are sent even without a byte, so that clients and proxies see a live connection. */
const maxOpeningMs = 10_000

export type StreamOpening = {
  readonly render: RenderEvent
  /** The failure of a run that has sent nothing; undefined as soon as the stream is open. */
  readonly outcome: () => Promise<RunFailure | undefined>
}

export function watchOpening(render: RenderEvent): StreamOpening {
  const opened = Promise.withResolvers<RunFailure | undefined>()
  let isOpen = false
  const open = () => {
    isOpen = true
    opened.resolve(undefined)
  }
  return {
    render: (event) => {
      const failure = !isOpen && isRunEnd(event) ? toRunFailure(event) : undefined
      if (failure) {
        opened.resolve(failure)
        return ''
      }
      const text = render(event)
      if (text || isRunEnd(event)) open()
      return text
    },
    outcome: async () => {
      const cancel = clock.schedule(maxOpeningMs, open)
      try {
        return await opened.promise
      } finally {
        cancel()
      }
    },
  }
}
