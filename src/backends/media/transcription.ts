/** Makes requests for the text of speech, and reads the answers. */

import * as z from 'zod'
import { encodeBase64Bytes } from '#agent/core/base64.ts'
import { bearer, type BindingCall, parseAnswer, type MediaAccess, type MediaRequest } from './vendor.ts'

export type TranscriptionRequest = {
  readonly model: string
  readonly bytes: Uint8Array<ArrayBuffer>
  readonly mime: string
  /** With an extension that fits the type: some vendors go by it. */
  readonly name: string
  /** ISO 639-1. Absent: the vendor finds out. */
  readonly language?: string | undefined
  /** Names and words that occur in it. */
  readonly prompt?: string | undefined
}

export type Transcript = {
  readonly text: string
  readonly seconds?: number
  readonly language?: string
  /** As OpenAI's `verbose_json` has them. */
  readonly segments?: readonly { readonly start: number; readonly end: number; readonly text: string }[]
}

export type TranscriptionVendor = {
  readonly maxBytes: number
  readonly createRequest: (request: TranscriptionRequest, access: MediaAccess) => MediaRequest
  readonly parse: (answer: unknown) => Transcript
}

const segment = z.looseObject({ start: z.number(), end: z.number(), text: z.string() })
const openaiAnswer = z.looseObject({
  text: z.string(),
  duration: z.coerce.number().min(0).optional(),
  language: z.string().optional(),
  segments: z.array(segment).optional(),
  usage: z
    .looseObject({ seconds: z.number().min(0).optional(), prompt_audio_seconds: z.number().min(0).nullish() })
    .optional(),
})

/** Only whisper tells the duration. */
const isWhisper = (model: string): boolean => model.includes('whisper')

const openaiLike = (vendor: string, maxBytes: number): TranscriptionVendor => ({
  maxBytes,
  createRequest({ model, bytes, mime, name, language, prompt }, { baseUrl, key }) {
    const body = new FormData()
    body.set('file', new File([bytes], name, { type: mime }))
    body.set('model', model)
    body.set('response_format', isWhisper(model) ? 'verbose_json' : 'json')
    if (language !== undefined) body.set('language', language)
    if (prompt !== undefined) body.set('prompt', prompt)
    return { url: `${baseUrl}/audio/transcriptions`, method: 'POST', headers: bearer(key), body }
  },
  parse(answer) {
    const { text, duration, language, segments, usage } = parseAnswer(vendor, openaiAnswer, answer)
    const seconds = duration ?? usage?.seconds ?? usage?.prompt_audio_seconds ?? undefined
    return {
      text: text.trim(),
      ...(seconds !== undefined && { seconds }),
      ...(language !== undefined && { language }),
      ...(segments && { segments: segments.map(({ start, end, text: said }) => ({ start, end, text: said })) }),
    }
  },
})

const deepgramAnswer = z.object({
  metadata: z.looseObject({ duration: z.number().min(0).optional() }).optional(),
  results: z.object({
    channels: z
      .array(
        z.looseObject({
          detected_language: z.string().optional(),
          alternatives: z.array(z.looseObject({ transcript: z.string() })).min(1),
        }),
      )
      .min(1),
  }),
})

const megabyte = 1024 * 1024

const deepgram: TranscriptionVendor = {
  // Deepgram takes 2 GB, but sound is held whole.
  maxBytes: 25 * megabyte,
  createRequest({ model, bytes, mime, language }, { baseUrl, key }) {
    const query = new URLSearchParams({ model, smart_format: 'true' })
    if (language === undefined) query.set('detect_language', 'true')
    else query.set('language', language)
    const headers = { authorization: `Token ${key}`, 'content-type': mime }
    return { url: `${baseUrl}/v1/listen?${query}`, method: 'POST', headers, body: bytes }
  },
  parse(answer) {
    const { metadata, results } = parseAnswer('Deepgram', deepgramAnswer, answer)
    const seconds = metadata?.duration
    const language = results.channels[0]?.detected_language
    return {
      text: results.channels
        .map(({ alternatives }) => alternatives[0]?.transcript ?? '')
        .join('\n')
        .trim(),
      ...(seconds !== undefined && { seconds }),
      ...(language !== undefined && { language }),
    }
  },
}

/** Vendors that refuse the fields that only OpenAI has. `fields`: those of the model. */
const plain = (vendor: string, path: string, fields: (model: string) => object): TranscriptionVendor => ({
  ...openaiLike(vendor, 25 * megabyte),
  createRequest({ model, bytes, mime, name, language }, { baseUrl, key }) {
    const body = new FormData()
    for (const [field, value] of Object.entries(fields(model))) body.set(field, String(value))
    if (language !== undefined) body.set('language', language)
    // xAI wants the file last.
    body.set('file', new File([bytes], name, { type: mime }))
    return { url: `${baseUrl}${path}`, method: 'POST', headers: bearer(key), body }
  },
})

export const transcriptionVendors = {
  openai: openaiLike('OpenAI', 25 * megabyte),
  groq: openaiLike('Groq', 25 * megabyte),
  deepgram,
  mistral: plain('Mistral', '/audio/transcriptions', (model) => ({ model })),
  // The route has one model, which has no name.
  xai: plain('xAI', '/stt', () => ({})),
  deepinfra: openaiLike('DeepInfra', 25 * megabyte),
} as const satisfies Readonly<Record<string, TranscriptionVendor>>

export const bindingTranscription = { maxBytes: 25 * megabyte } as const

export const createTranscriptionBindingCall = ({
  model,
  bytes,
  language,
  prompt,
}: TranscriptionRequest): BindingCall => ({
  model,
  input: {
    audio: encodeBase64Bytes(bytes),
    ...(language !== undefined && { language }),
    ...(prompt !== undefined && { initial_prompt: prompt }),
  },
})

const bindingAnswer = z.looseObject({
  text: z.string(),
  transcription_info: z
    .looseObject({ duration: z.number().min(0).optional(), language: z.string().optional() })
    .optional(),
})

export function parseTranscriptionBinding(answer: unknown): Transcript {
  const { text, transcription_info: { duration, language } = {} } = parseAnswer('Workers AI', bindingAnswer, answer)
  return {
    text: text.trim(),
    ...(duration !== undefined && { seconds: duration }),
    ...(language !== undefined && { language }),
  }
}
