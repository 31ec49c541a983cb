import { expect, it } from 'vitest'
import type { MediaReference } from '#agent/core/media/media-reference.ts'
import { renderQuote } from '#channels/text/render-quote.ts'

const sender = { id: '12', name: 'Bert' }
const photo = { kind: 'image', reference: 'p' } as const satisfies MediaReference
const voice = { kind: 'voice', reference: 'v' } as const satisfies MediaReference

it.each([
  [{}, 'why?'],
  [{ sender, text: '' }, 'why?'],
  [{ sender, text: 'a\n[b]' }, '[In reply to Bert: a [b)]\nwhy?'],
  [{ text: 'a' }, '[In reply to a message: a]\nwhy?'],
  [{ sender, media: [photo] }, '[In reply to Bert: (photo)]\nwhy?'],
  [{ sender, text: 'look', media: [photo, voice] }, '[In reply to Bert: (photo, voice message) look]\nwhy?'],
])('quotes %j', (quote, expected) => expect(renderQuote({ messageId: '1', ...quote }, 'why?')).toBe(expected))
