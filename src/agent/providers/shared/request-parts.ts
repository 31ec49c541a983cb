/** Parts of a request that several dialects write alike. */

import type { ModelRequest } from '../../model/dialect.ts'
import { callsIn, type Message, userText } from '../../model/message.ts'
import { wireName } from './call-id.ts'

/** What stands behind the transcript for this request only. */
export function behind({ draft, say }: ModelRequest): readonly Message[] {
  const begun: readonly Message[] = draft
    ? [{ role: 'assistant', content: [{ type: 'text', text: draft }], stop: 'length' }]
    : []
  return say ? [...begun, userText(say)] : begun
}

/** Names of the tools that were called, each once. */
export const namesOfCalls = (transcript: readonly Message[]): readonly string[] => [
  ...new Set(
    transcript.flatMap((message) =>
      message.role === 'assistant' ? callsIn(message).map(({ name }) => wireName(name)) : [],
    ),
  ),
]

/** Thinking that led to nothing, because the answer was cut off in it, is refused at the end of a message. */
export const toLast = <T>(blocks: readonly T[], isSaid: (block: T) => boolean): readonly T[] =>
  blocks.slice(0, blocks.findLastIndex(isSaid) + 1)

/** A schema without patterns and formats, which some servers cannot compile into a grammar. */
export const plain = (schema: object): object =>
  JSON.parse(
    JSON.stringify(schema, (key, value: unknown) =>
      (key === 'pattern' || key === 'format') && typeof value === 'string' ? undefined : value,
    ),
  ) as object
