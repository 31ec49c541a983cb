/** Creates the messages that follow the transcript in one request only. */

import type { ModelRequest } from '#agent/core/dialect.ts'
import { type Message, userText } from '#agent/core/message.ts'

export function createTrailingMessages({ draft, say }: ModelRequest): readonly Message[] {
  const partial: readonly Message[] = draft
    ? [{ role: 'assistant', content: [{ type: 'text', text: draft }], stop: 'length' }]
    : []
  return say ? [...partial, userText(say)] : partial
}
