/** Builds the stream group of the turn's effects: buffers the deltas of a model call and emits them as events. */

import { failpoint } from '#durable/platform/failpoint.ts'
import { DeltaBuffer } from './delta-buffer.ts'
import type { StreamEffects } from './effects.ts'
import type { TurnSession } from './turn-session.ts'

export function createStreamEffects(session: TurnSession): StreamEffects {
  const buffer = new DeltaBuffer((kind, text) => session.store.appendDelta(kind, text))
  return {
    append: (delta) => {
      buffer.append(delta)
      void failpoint('mid-stream')
    },
    end: ({ flush }) => (flush ? buffer.flush() : buffer.discard()),
  }
}
