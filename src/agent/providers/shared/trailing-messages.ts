/** Creates the messages that follow the transcript in one request only. */

import type { ModelRequest } from '#agent/core/dialect.ts'
import { type Message, userText } from '#agent/core/message.ts'

export function createTrailingMessages({ draft, instruction }: ModelRequest): readonly Message[] {
  const partial: readonly Message[] = draft
    ? [{ role: 'assistant', content: [{ type: 'text', text: draft }], stop: 'length' }]
    : []
  return instruction ? [...partial, userText(instruction)] : partial
}
