/** Makes images and speech for a session: chosen by the settings, paid once, stored, and linked. */

import { log } from '#agent/core/log.ts'
import type { ImageOrder, MediaAnswer, MediaCall, SpeechOrder } from '#agent/core/media/media.ts'
import type { MediaProvider } from '#agent/routing/media-providers.ts'
import { priceImage } from '#agent/routing/media-vendors.ts'
import { sizeOfAspect } from '#backends/media/images.ts'
import { listSpeechFormats, type SoundFormat } from '#backends/media/speech.ts'
import { MediaFailure } from '#backends/media/vendor.ts'
import { makeImages } from '#durable/models/media/make-image.ts'
import { makeSpeech } from '#durable/models/media/make-speech.ts'
import { buyOnce, callKey } from './buy-once.ts'
import { loadPictures } from './load-picture.ts'
import type { MediaRow } from './media-rows.ts'
import { type MediaHost, requireMedia, createTransport } from './media-host.ts'
import { describeFile, renderStem } from './store-media.ts'

export function createImage(host: MediaHost, order: ImageOrder, call: MediaCall): Promise<MediaAnswer> {
  const { callId, signal, authority: by } = call
  return orRefused(async () => {
    const id = callKey(host, callId)
    // A job in a queue stays with its vendor, whatever the settings say meanwhile.
    const job = host.rows.get(id)?.late
    const choice = requireMedia(host, 'image', job && { provider: job.provider, model: job.name })
    const images = await loadPictures(host, order.images, signal)
    const transport = createTransport(host, signal)
    const request = { prompt: order.prompt, aspect: order.aspect, images }
    // As the routes of `/v1`: without a quality the vendor may take its best one.
    const { usd, maxUsd } = priceImage(choice, { size: sizeOfAspect(order.aspect) })
    const offer = {
      id,
      use: 'image',
      choice: { ...choice, usd },
      maxUsd,
      units: 1,
      stem: renderStem(order.prompt, 'image'),
      by,
    } as const
    const bought = await buyOnce(host, offer, async (buying) => {
      const [first] = await makeImages(transport, choice, { request, ...buying })
      if (!first) throw new MediaFailure('failed', `${choice.provider} sent no image.`)
      return first
    })
    return getAnswer(host, bought)
  })
}

/** Prices of speech are for this many characters. */
const pricedChars = 1_000

export function createSpeech(host: MediaHost, order: SpeechOrder, call: MediaCall): Promise<MediaAnswer> {
  const { callId, signal, authority: by } = call
  return orRefused(async () => {
    const { tts } = host.deployment().settings
    // Model and voice of the settings are those of their provider.
    const isOther = order.provider !== undefined && order.provider !== tts?.provider
    const choice = requireMedia(host, 'speech', isOther ? { provider: order.provider } : undefined)
    const voice = order.voice ?? (isOther ? undefined : tts?.voice)
    const offer = {
      id: callKey(host, callId),
      use: 'speech',
      choice,
      units: order.text.length / pricedChars,
      stem: renderStem(order.text, 'speech'),
      by,
    } as const
    const { text, speed, instructions } = order
    const format = order.format ?? defaultFormat(host, choice.provider)
    const bought = await buyOnce(host, offer, () =>
      makeSpeech(createTransport(host, signal), choice, { text, voice, format, speed, instructions }),
    )
    return getAnswer(host, bought)
  })
}

/** Chats that show Opus as a voice message. */
const voicePlatforms: ReadonlySet<string> = new Set(['telegram', 'whatsapp', 'discord'])

const defaultFormat = ({ platform }: MediaHost, provider: MediaProvider<'speech'>): SoundFormat | undefined =>
  voicePlatforms.has(platform() ?? '') && listSpeechFormats(provider).includes('opus') ? 'opus' : undefined

async function getAnswer(host: MediaHost, row: MediaRow): Promise<MediaAnswer> {
  const { file, model, state, queuedId = '' } = row
  if (!file) return { kind: 'started', workId: queuedId, model }
  const note = 'It is paid and kept, and appears in the workspace as soon as its storage answers.'
  return { kind: 'made', files: [await describeFile(host, file)], model, ...(state === 'kept' && { note }) }
}

async function orRefused(work: () => Promise<MediaAnswer>): Promise<MediaAnswer> {
  try {
    return await work()
  } catch (error) {
    if (!(error instanceof MediaFailure)) throw error
    log.warn('media.failed', 'Media could not be made.', { reason: error.kind })
    return { kind: 'refused', error: error.message, reason: error.kind }
  }
}
