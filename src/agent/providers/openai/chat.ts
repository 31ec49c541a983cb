/**
 * Dialect `openai-chat`: chat completions, streamed, on the official SDK. The SDK carries requests,
 * errors and types; the body is put together here, because a long turn sends the same beginning hundreds
 * of times. What providers do differently is data: the quirks of the endpoint.
 */

import { cancelled } from '../shared/abort-error.ts'
import type { Dialect, ModelRequest, Quirks } from '../../model/dialect.ts'
import type { Message } from '../../model/message.ts'
import { GrowingBytes } from '../shared/utf8-builder.ts'
import { headOf, markOf } from './chat-head.ts'
import { type Style, styleOf, writtenAt, writtenBetween } from './chat-messages.ts'
import { readChat } from './chat-stream.ts'
import { clientFor } from './client.ts'
import { behind } from '../shared/request-parts.ts'
import { sanitiseGrowing, withMore } from '../shared/sanitise.ts'

export const openaiChat: Dialect = {
  async call(request, endpoint, { signal, ...listening }) {
    const response = await clientFor(endpoint)
      .post('/chat/completions', {
        body: bodyOf(request, endpoint.quirks),
        headers: { 'content-type': 'application/json', accept: 'text/event-stream' },
        stream: true,
        signal,
      })
      .asResponse()
      .catch(cancelled(signal))
    return readChat(response, listening)
  },
}

/**
 * The request as JSON, in UTF-8. Everything that stays the same from call to call stands first, byte for
 * byte, and of a transcript that grows only what is new is rendered and encoded. Marks for a provider's cache
 * move with every call: they stand in the last messages, which are rendered anew.
 */
export function bodyOf(request: ModelRequest, quirks: Quirks = {}): Uint8Array {
  const clean = sanitiseGrowing(request.transcript)
  const style = styleOf(quirks, request.repairs)
  const mark = markOf(request, quirks)
  const settled = Math.max(0, clean.length - (mark ? loose : 1))
  const kept = settledBytes(headOf(request, quirks, style), { clean, settled, style })
  const all = withMore(clean, behind(request))
  const end = all.slice(settled).map((_message, i) => settled + i)
  const marked = new Set(mark ? end.filter((at) => isMarkable(all[at])).slice(-marks) : [])
  const write = (at: number): string => `,${writtenAt(all, at, style, marked.has(at) ? mark : undefined)}`
  return kept.with(`${end.map(write).join('')}]}`)
}

/** Providers read four marks: the system message has one. */
const marks = 3
/** Calls without a word cannot be marked: among the last ones there are enough that can. */
const loose = 4

/** A mark stands on text. */
const isMarkable = (message: Message | undefined): boolean =>
  message?.content.some((part) => part.type === 'text' && /\S/.test(part.text)) ?? false

type Kept = { readonly head: string; readonly style: Style; readonly bytes: GrowingBytes; upTo: number }
const keptBytes = new WeakMap<readonly Message[], Kept>()

type Settled = { readonly clean: readonly Message[]; readonly settled: number; readonly style: Style }

/** Everything before the last messages: that does not change any more. */
function settledBytes(head: string, { clean, settled, style }: Settled): GrowingBytes {
  let kept = keptBytes.get(clean)
  let before = ''
  if (kept?.head !== head || kept.style !== style || kept.upTo > settled) {
    kept = { head, style, bytes: new GrowingBytes(), upTo: 0 }
    before = head
    keptBytes.set(clean, kept)
  }
  let pieces = [before]
  let length = 0
  for (const piece of writtenBetween(clean, kept.upTo, settled, style)) {
    pieces.push(piece)
    length += piece.length
    if (length < encodedTogether) continue
    kept.bytes.append(pieces.join(','))
    pieces = ['']
    length = 0
  }
  kept.upTo = settled
  if (pieces.length > 1 || pieces[0]) kept.bytes.append(pieces.join(','))
  return kept.bytes
}

/** Characters: a long history is encoded in a few pieces, not in one per message. */
const encodedTogether = 4 * 1024 * 1024
