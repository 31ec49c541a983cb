/** Makes requests for speech. Most answers are the bytes of a sound file. */

import * as z from 'zod'
import { createGeminiRequest, parseGemini } from './gemini.ts'
import { wrapSamples } from './join-sound.ts'
import { concat } from './ogg.ts'
import {
  bearer,
  type BindingCall,
  decodeMedia,
  jsonRequest,
  MediaFailure,
  parseAnswer,
  type MediaAccess,
  type MediaRequest,
} from './vendor.ts'

const soundFormats = ['mp3', 'opus', 'wav', 'aac', 'flac', 'pcm'] as const
export type SoundFormat = (typeof soundFormats)[number]

export type SpeechRequest = {
  readonly model: string
  /** One piece: at most the characters that the vendor takes. */
  readonly text: string
  readonly voice?: string | undefined
  readonly format: SoundFormat
  readonly instructions?: string | undefined
  readonly speed?: number | undefined
}

export type SpeechVendor = {
  readonly maxChars: number
  readonly formats: readonly SoundFormat[]
  readonly createRequest: (request: SpeechRequest, access: MediaAccess) => MediaRequest
  /** Reads the sound of an answer in JSON. */
  readonly parse?: (answer: unknown, format: SoundFormat) => Uint8Array<ArrayBuffer>
}

const openaiLike = (defaultVoice: string, formats: readonly SoundFormat[]): SpeechVendor => ({
  maxChars: 4_096,
  formats,
  createRequest: ({ model, text, voice = defaultVoice, format, instructions, speed }, { baseUrl, key }) =>
    jsonRequest(
      `${baseUrl}/audio/speech`,
      {
        model,
        input: text,
        voice,
        response_format: format,
        ...(instructions !== undefined && { instructions }),
        ...(speed !== undefined && { speed }),
      },
      bearer(key),
    ),
})

/** "Rachel", a voice that every account has. */
const defaultElevenVoice = '21m00Tcm4TlvDq8ikWAM'
const elevenFormats: Readonly<Partial<Record<SoundFormat, string>>> = {
  mp3: 'mp3_44100_128',
  opus: 'opus_48000_64',
}
const voicePattern = /^[A-Za-z0-9]{1,64}$/

const elevenlabs: SpeechVendor = {
  maxChars: 5_000,
  formats: ['mp3', 'opus'],
  createRequest({ model, text, voice = defaultElevenVoice, format, speed }, { baseUrl, key }) {
    if (!voicePattern.test(voice))
      throw new MediaFailure('refused', 'ElevenLabs: a voice is an id of letters and digits.')
    const url = `${baseUrl}/v1/text-to-speech/${voice}?output_format=${elevenFormats[format] ?? elevenFormats.mp3}`
    const settings = speed === undefined ? {} : { voice_settings: { speed } }
    return jsonRequest(url, { text, model_id: model, ...settings }, { 'xi-api-key': key })
  },
}

const geminiRate = 24_000

/** Its answers are samples without a header: 16 bits, one channel. */
const gemini: SpeechVendor = {
  // 4,000 bytes, in any script.
  maxChars: 1_300,
  formats: ['wav', 'pcm'],
  createRequest({ model, text, voice = 'Kore', instructions }, access) {
    // Without an order, the model answers some texts instead of speaking them.
    const order = instructions === undefined ? 'Read aloud:' : `Read aloud. ${instructions}:`
    const generationConfig = {
      responseModalities: ['AUDIO'],
      speechConfig: { voiceConfig: { prebuiltVoiceConfig: { voiceName: voice } } },
    }
    return createGeminiRequest({ model, parts: [{ text: `${order}\n\n${text}` }], generationConfig }, access)
  },
  parse(answer, format) {
    const { data, said } = parseGemini(answer)
    if (!data.length) throw new MediaFailure('refused', `Gemini spoke nothing. ${said}`.trim())
    const samples = concat(data.map((one) => decodeMedia('Gemini', one.data)))
    if (format === 'pcm') return samples
    const [, rate] = /;\s?rate=(\d{1,6})/.exec(data[0]?.mimeType ?? '') ?? []
    return wrapSamples(samples, rate === undefined ? geminiRate : Number(rate))
  },
}

const mistralAnswer = z.object({ audio_data: z.string().min(1) })

const mistral: SpeechVendor = {
  maxChars: 4_096,
  formats: ['mp3', 'wav'],
  createRequest: ({ model, text, voice = 'en_paul_neutral', format }, { baseUrl, key }) =>
    jsonRequest(
      `${baseUrl}/audio/speech`,
      { model, input: text, voice_id: voice, response_format: format, stream: false },
      bearer(key),
    ),
  parse: (answer) => decodeMedia('Mistral', parseAnswer('Mistral', mistralAnswer, answer).audio_data),
}

/** The route has one model, which has no name. */
const xai: SpeechVendor = {
  maxChars: 15_000,
  formats: ['mp3'],
  createRequest: ({ text, voice = 'eve', speed }, { baseUrl, key }) =>
    jsonRequest(
      `${baseUrl}/tts`,
      { text, voice_id: voice, language: 'auto', ...(speed !== undefined && { speed }) },
      bearer(key),
    ),
}

const minimaxAnswer = z.object({ data: z.object({ audio: z.string().min(2) }) })
/** Its errors have status 200. */
const minimaxError = z.object({ base_resp: z.looseObject({ status_code: z.number(), status_msg: z.string() }) })

const minimax: SpeechVendor = {
  maxChars: 10_000,
  formats: ['mp3', 'wav', 'flac'],
  createRequest: ({ model, text, voice = 'English_expressive_narrator', format, speed = 1 }, { baseUrl, key }) =>
    jsonRequest(
      `${baseUrl}/t2a_v2`,
      {
        model,
        text,
        stream: false,
        voice_setting: { voice_id: voice, speed },
        audio_setting: { sample_rate: 32_000, bitrate: 128_000, format, channel: 1 },
      },
      bearer(key),
    ),
  parse(answer) {
    const { base_resp: { status_code: status = 0, status_msg: said = '' } = {} } =
      minimaxError.safeParse(answer).data ?? {}
    if (status) throw new MediaFailure('refused', `MiniMax: ${said.slice(0, 300)}`)
    return decodeHex(parseAnswer('MiniMax', minimaxAnswer, answer).data.audio)
  },
}

function decodeHex(text: string): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(text.length >> 1)
  for (let at = 0; at < bytes.length; at++) {
    const byte = Number.parseInt(text.slice(2 * at, 2 * at + 2), 16)
    if (Number.isNaN(byte)) throw new MediaFailure('failed', 'MiniMax sent media that are not hexadecimal.')
    bytes[at] = byte
  }
  return bytes
}

export const speechVendors = {
  openai: openaiLike('alloy', soundFormats),
  elevenlabs,
  gemini,
  mistral,
  xai,
  minimax,
  deepinfra: openaiLike('af_heart', ['mp3', 'opus', 'wav', 'flac', 'pcm']),
} as const satisfies Readonly<Record<string, SpeechVendor>>

export const bindingSpeech = { maxChars: 2_000, formats: ['mp3'] } as const satisfies Pick<
  SpeechVendor,
  'maxChars' | 'formats'
>

/** The formats of a provider, the preferred one first. */
export const listSpeechFormats = (provider: keyof typeof speechVendors | 'workers-ai'): readonly SoundFormat[] =>
  provider === 'workers-ai' ? bindingSpeech.formats : speechVendors[provider].formats

const melo = /melotts$/

export const createSpeechBindingCall = ({ model, text, voice }: SpeechRequest): BindingCall => ({
  model,
  input: melo.test(model)
    ? { prompt: text, ...(voice !== undefined && { lang: voice }) }
    : { text, encoding: 'mp3', ...(voice !== undefined && { speaker: voice }) },
})

const bindingAnswer = z.object({ audio: z.string().min(1) })

/** The JSON answer of a binding. Models that stream bytes need no parser. */
export const parseSpeechBinding = (answer: unknown): Uint8Array<ArrayBuffer> =>
  decodeMedia('Workers AI', parseAnswer('Workers AI', bindingAnswer, answer).audio)
