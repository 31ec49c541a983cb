/** Lists the names of the tools that a transcript calls, each once. */

import { callsIn, type Message } from '#agent/core/message.ts'
import { encodeToolName } from './call-id.ts'

export const listCalledTools = (transcript: readonly Message[]): readonly string[] => [
  ...new Set(
    transcript.flatMap((message) =>
      message.role === 'assistant' ? callsIn(message).map(({ name }) => encodeToolName(name)) : [],
    ),
  ),
]
