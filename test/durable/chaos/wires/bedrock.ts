/** Implements the wire of `bedrock-converse`: binary frames with checksums. */

import { toolUseBlock, messageEnd, eventFrame, exceptionFrame } from '#test/agent/providers/fixtures/bedrock.ts'
import { failing, streamOf } from '../bytes.ts'
import { harmless } from '../outcomes.ts'
import type { Wire } from '../wire.ts'

const stream = streamOf('application/vnd.amazon.eventstream')
const reasons = { stop: 'end_turn', tools: 'tool_use', filter: 'content_filtered' } as const

const text = (words: string) => eventFrame('contentBlockDelta', { contentBlockIndex: 0, delta: { text: words } })
const open = [eventFrame('messageStart', { role: 'assistant' })]
const closed = eventFrame('contentBlockStop', { contentBlockIndex: 0 })
/** Up to the middle of the "ü". */
const half = text('Grün')
const insideCharacter = half.slice(0, half.indexOf(0xc3) + 1)
const damaged = half.map((byte, at) => (at === half.length - 10 ? byte ^ 1 : byte))

export const bedrock: Wire = {
  name: 'bedrock-converse',
  error: (code, message, headers) => failing(code, { message }, headers),
  stream,
  open,
  text,
  call: (index, id, name, args) => toolUseBlock(index + 1, id, name, args),
  callBegun: (id, name, args) => toolUseBlock(1, id, name, args).slice(0, -1),
  end: (why) => [closed, ...messageEnd(reasons[why])],
  halfFrame: [half.slice(0, 40)],
  halfCharacter: [insideCharacter],
  overloaded: exceptionFrame('serviceUnavailableException', 'The service is overloaded.'),
  failedInside: stream(exceptionFrame('internalServerException', 'Broken.')),
  // There is nothing that keeps a connection of this kind alive.
  signsOfLife: {},
  refusal: [closed, ...messageEnd('guardrail_intervened')],
  unreadable: [damaged],
  own: [
    harmless('no metadata', stream(...open, text('All is well.'), closed, ...messageEnd('end_turn').slice(0, 1))),
    harmless(
      'events that nobody knows',
      stream(...open, eventFrame('hologram', {}), text('All is well.'), closed, ...messageEnd('end_turn')),
    ),
  ],
}
