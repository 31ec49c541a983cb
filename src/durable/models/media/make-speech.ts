/** Makes speech by the chosen vendor. A long text is spoken in pieces, which become one file in the order of the text. */

import { detectMediaType } from '#agent/core/media/detect-media-type.ts'
import type { MediaChoice } from '#agent/routing/media-vendors.ts'
import { joinSound } from '#backends/media/join-sound.ts'
import { splitSentences } from '#backends/media/split-sentences.ts'
import {
  bindingSpeech,
  createSpeechBindingCall,
  listSpeechFormats,
  parseSpeechBinding,
  type SoundFormat,
  type SpeechRequest,
  type SpeechVendor,
  speechVendors,
} from '#backends/media/speech.ts'
import { limitConcurrency } from '#backends/limit-concurrency.ts'
import { MediaFailure } from '#backends/media/vendor.ts'
import { askVendor, type MediaTransport, readBytes, readJson, requireType, runBinding } from './vendor-transport.ts'

export type SpeechJob = Omit<SpeechRequest, 'model' | 'format'> & { readonly format?: SoundFormat | undefined }

export type Speech = { readonly bytes: Uint8Array<ArrayBuffer>; readonly mime: string; readonly extension: string }

/** Neither format has a mark by which it is known. */
const markless: Readonly<Partial<Record<SoundFormat, Omit<Speech, 'bytes'>>>> = {
  aac: { mime: 'audio/aac', extension: 'aac' },
  pcm: { mime: 'audio/pcm', extension: 'pcm' },
}
/** Formats whose pieces can be joined. */
const joinable: ReadonlySet<string> = new Set<SoundFormat>(['mp3', 'opus', 'wav'])
const uncompressed: ReadonlySet<string> = new Set<SoundFormat>(['wav', 'pcm'])
/** About 9 minutes or 27 MB. */
const maxUncompressedChars = 8_000
const maxConcurrent = 3

export async function makeSpeech(
  transport: MediaTransport,
  choice: MediaChoice<'speech'>,
  { text, format: wanted, ...job }: SpeechJob,
): Promise<Speech> {
  const { provider, model } = choice
  const format = wanted ?? listSpeechFormats(provider)[0] ?? 'mp3'
  const pieces = splitText(text, provider, format)
  const limited = limitConcurrency(maxConcurrent)
  const spoken = requireAll(
    await Promise.allSettled(
      pieces.map((piece) => limited(() => speak(transport, choice, { ...job, model, format, text: piece }))),
    ),
  )
  const [first] = spoken
  if (!first) throw new MediaFailure('refused', 'There is no text to speak.')
  const known = markless[format]
  if (known) return { ...known, bytes: first }
  const checked = spoken.map((bytes) => requireType(provider, bytes, 'audio'))
  const mime = checked[0]?.mime ?? ''
  const bytes = joinSound(spoken, mime)
  return { bytes, mime, extension: detectMediaType(bytes)?.extension ?? format }
}

/** Throws for what the provider or the format cannot do. */
function splitText(text: string, provider: MediaChoice<'speech'>['provider'], format: SoundFormat): readonly string[] {
  const { maxChars } = provider === 'workers-ai' ? bindingSpeech : speechVendors[provider]
  const formats = listSpeechFormats(provider)
  if (!formats.includes(format))
    throw new MediaFailure('refused', `${provider} makes ${formats.join(', ')}, not ${format}.`)
  if (uncompressed.has(format) && text.length > maxUncompressedChars)
    throw new MediaFailure(
      'refused',
      `As ${format}, at most ${maxUncompressedChars} characters are spoken. Take a shorter text, or mp3 where the provider makes it.`,
    )
  const pieces = splitSentences(text, maxChars)
  if (pieces.length > 1 && !joinable.has(format))
    throw new MediaFailure(
      'refused',
      `A text of more than ${maxChars} characters can be made as mp3, opus or wav only.`,
    )
  return pieces
}

/** A failure is one of all pieces. When some were spoken, they were paid. */
function requireAll<T>(settled: readonly PromiseSettledResult<T>[]): readonly T[] {
  const failed = settled.find((one) => one.status === 'rejected')
  if (!failed) return settled.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []))
  const { reason } = failed as { readonly reason: unknown }
  const isPaid = settled.some(({ status }) => status === 'fulfilled')
  throw reason instanceof MediaFailure && isPaid ? new MediaFailure('unknown', reason.message) : reason
}

async function speak(
  transport: MediaTransport,
  choice: MediaChoice<'speech'>,
  request: SpeechRequest,
): Promise<Uint8Array<ArrayBuffer>> {
  const { provider } = choice
  if (provider === 'workers-ai') {
    const answer = await runBinding(transport, createSpeechBindingCall(request))
    return 'bytes' in answer ? answer.bytes : parseSpeechBinding(answer.json)
  }
  const vendor: SpeechVendor = speechVendors[provider]
  const response = await askVendor(transport, choice, (access) => vendor.createRequest(request, access), {
    vendor: provider,
  })
  return vendor.parse ? vendor.parse(await readJson(provider, response), request.format) : readBytes(provider, response)
}
