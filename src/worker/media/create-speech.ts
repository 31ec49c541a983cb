/** Answers `/v1/audio/speech` as OpenAI does. A longer text than OpenAI takes is spoken in pieces. */

import { requireAction } from '../input/require-action.ts'
import type { SoundFormat } from '#backends/media/speech.ts'
import { makeSpeech } from '#durable/models/media/make-speech.ts'
import type { PaidRequest } from './paid-call.ts'
import { payFor, requireChoice } from './paid-request.ts'

export type SpeechBody = {
  readonly model: string
  readonly input: string
  readonly voice?: string | { readonly id: string } | null | undefined
  readonly response_format?: SoundFormat | null | undefined
  readonly speed?: number | null | undefined
  readonly instructions?: string | null | undefined
}

const pricedChars = 1_000
/** Clients name one of these, whoever speaks. */
const openaiVoices = /^(?:alloy|ash|ballad|cedar|coral|echo|fable|marin|nova|onyx|sage|shimmer|verse)$/

export async function createSpeech(call: PaidRequest, body: SpeechBody): Promise<Response> {
  await requireAction(call, { tool: 'text_to_speech', input: { text: body.input }, isOrdered: true }, 'model')
  const choice = requireChoice(call, 'speech', body.model)
  const named = typeof body.voice === 'object' ? body.voice?.id : body.voice
  const isForeign = choice.provider !== 'openai' && openaiVoices.test(named ?? '')
  const { bytes, mime } = await payFor(call, {
    use: 'speech',
    choice,
    units: body.input.length / pricedChars,
    work: (transport) =>
      makeSpeech(transport, choice, {
        text: body.input,
        format: body.response_format ?? undefined,
        voice: isForeign ? call.tenant.settings.tts?.voice : named,
        instructions: body.instructions ?? undefined,
        speed: body.speed ?? undefined,
      }),
  })
  return new Response(bytes, { headers: { 'content-type': mime, 'x-content-type-options': 'nosniff' } })
}
