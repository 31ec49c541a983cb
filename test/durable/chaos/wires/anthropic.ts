/** Implements the wire of `anthropic`: events of the Messages API. */

import {
  contentBlock,
  toolUseBlock,
  messageEnd,
  type Event,
  messageStart,
  serializeEvents as written,
} from '#test/agent/providers/fixtures/anthropic.ts'
import { failing, type Piece, stream, whole } from '../bytes.ts'
import { broken, harmless } from '../outcomes.ts'
import type { Wire } from '../wire.ts'

const events = (...list: readonly Event[]): readonly Piece[] => list.map((event) => written(event))
const types: Readonly<Record<number, string>> = {
  401: 'authentication_error',
  402: 'billing_error',
  403: 'permission_error',
  404: 'not_found_error',
  413: 'request_too_large',
  429: 'rate_limit_error',
  500: 'api_error',
  529: 'overloaded_error',
}
const reasons = { stop: 'end_turn', tools: 'tool_use', filter: 'refusal' } as const

const text = (words: string) =>
  written({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: words } })
const open = events(messageStart(), {
  type: 'content_block_start',
  index: 0,
  content_block: { type: 'text', text: '' },
})
const closed = written({ type: 'content_block_stop', index: 0 })
const said = [...open, text('All is well.'), closed]

export const anthropic: Wire = {
  name: 'anthropic',
  error: (code, message, headers) =>
    failing(code, { type: 'error', error: { type: types[code] ?? 'invalid_request_error', message } }, headers),
  stream,
  open,
  text,
  call: (index, id, name, args) => events(...toolUseBlock(index + 1, id, name, args)),
  callBegun: (id, name, args) => events(...toolUseBlock(1, id, name, args).slice(0, -1)),
  end: (why) => [closed, ...events(...messageEnd(reasons[why]))],
  halfFrame: ['event: content_block_delta\ndata: {"type":"content_bl'],
  halfCharacter: [
    'data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Gr',
    new Uint8Array([0xc3]),
  ],
  overloaded: written({ type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } }),
  failedInside: whole('{"type":"error","error":{"type":"api_error","message":"Broken."}}', 'application/json'),
  signsOfLife: { comments: ':\n\n', pings: written({ type: 'ping' }) },
  refusal: [
    closed,
    ...events(...messageEnd('refusal', { stop_details: { type: 'refusal', explanation: 'I cannot.' } })),
  ],
  unreadable: ['event: content_block_delta\ndata: {"type":"content_block_delta","index":NaN}\n\n'],
  own: [
    harmless('no message_stop', stream(...said, ...events(...messageEnd('end_turn').slice(0, 1)))),
    harmless(
      'blocks of a kind that nobody knows',
      stream(
        ...open,
        text('All is well.'),
        closed,
        ...events(...contentBlock(1, { type: 'hologram' }), ...messageEnd('end_turn')),
      ),
    ),
    harmless(
      'pings between the words',
      stream(...open, written({ type: 'ping' }), text('All is well.'), closed, ...events(...messageEnd('end_turn'))),
    ),
    broken('an answer that has neither a reason nor an end', stream(...open, closed)),
  ],
}
