/** Chooses the model of who makes images, speech, transcriptions and video, with its price and its address. */

import type { ToolDeployment } from '#agent/core/vendor/tool-deployment.ts'
import {
  findMediaProvider,
  type MediaProvider,
  type MediaUse,
  settingOfMedia,
  type WantedMedia,
} from './media-providers.ts'

/** `usd`: for one unit: an image, 1,000 characters, a minute of sound or of video to look at, or a second of video to make. Estimates from price lists. */
type MediaModel = {
  readonly model: string
  readonly usd: number
  /** For images of 1024 × 1024, if the price depends on the quality. Larger ones cost more by their area. */
  readonly byQuality?: Readonly<Record<'low' | 'medium' | 'high', number>>
}

/** The first model is the default. */
const models: Readonly<Record<MediaUse, Readonly<Record<string, readonly MediaModel[]>>>> = {
  image: {
    openai: [
      { model: 'gpt-image-2', usd: 0.053, byQuality: { low: 0.006, medium: 0.053, high: 0.211 } },
      { model: 'gpt-image-1.5', usd: 0.034, byQuality: { low: 0.009, medium: 0.034, high: 0.133 } },
    ],
    gemini: [{ model: 'gemini-3.1-flash-image', usd: 0.067 }],
    fal: [{ model: 'fal-ai/flux-2-pro', usd: 0.05 }],
    'workers-ai': [{ model: '@cf/black-forest-labs/flux-1-schnell', usd: 0.001 }],
    xai: [{ model: 'grok-imagine-image', usd: 0.02 }],
    openrouter: [{ model: 'google/gemini-3.1-flash-image', usd: 0.07 }],
    deepinfra: [{ model: 'black-forest-labs/FLUX-2-pro', usd: 0.05 }],
  },
  speech: {
    openai: [{ model: 'gpt-4o-mini-tts', usd: 0.015 }],
    elevenlabs: [{ model: 'eleven_multilingual_v2', usd: 0.3 }],
    gemini: [
      { model: 'gemini-3.8-flash-tts', usd: 0.015 },
      { model: 'gemini-3.8-flash-lite-tts', usd: 0.01 },
    ],
    'workers-ai': [{ model: '@cf/deepgram/aura-1', usd: 0.015 }],
    mistral: [{ model: 'voxtral-mini-tts-2603', usd: 0.016 }],
    xai: [{ model: 'tts', usd: 0.019 }],
    minimax: [{ model: 'speech-2.8-hd', usd: 0.1 }],
    deepinfra: [{ model: 'hexgrad/Kokoro-82M', usd: 0.001 }],
  },
  transcription: {
    openai: [
      { model: 'gpt-4o-mini-transcribe', usd: 0.003 },
      { model: 'gpt-4o-transcribe', usd: 0.006 },
      { model: 'whisper-1', usd: 0.006 },
    ],
    groq: [{ model: 'whisper-large-v3-turbo', usd: 0.000_67 }],
    deepgram: [{ model: 'nova-3', usd: 0.005_2 }],
    'workers-ai': [{ model: '@cf/openai/whisper-large-v3-turbo', usd: 0.000_5 }],
    mistral: [{ model: 'voxtral-mini-latest', usd: 0.002 }],
    xai: [{ model: 'stt', usd: 0.002 }],
    deepinfra: [{ model: 'openai/whisper-large-v3-turbo', usd: 0.000_5 }],
  },
  video: {
    openai: [{ model: 'sora-2', usd: 0.1 }],
    fal: [{ model: 'fal-ai/kling-video/v2.5-turbo/pro/text-to-video', usd: 0.07 }],
  },
  // A minute is about 18,000 tokens.
  analysis: {
    gemini: [{ model: 'gemini-3.5-flash', usd: 0.04 }],
    openrouter: [{ model: 'google/gemini-3.5-flash', usd: 0.04 }],
  },
}

type ImageOptions = { readonly quality?: string | null | undefined; readonly size?: string | null | undefined }

/** USD for one image: `usd` is what it probably costs, `maxUsd` the most. Both are undefined for an unknown price. */
export type ImagePrice = { readonly usd: number | undefined; readonly maxUsd: number | undefined }

/** The sides of the image that the price lists name. */
const pricedArea = 1_024 * 1_024
/** The vendor chooses the size: the largest of the usual ones. */
const unknownArea = 1_536 * 1_024

type QualityPrices = NonNullable<MediaModel['byQuality']>
const isPriced = (prices: QualityPrices, quality: string): quality is keyof QualityPrices =>
  Object.hasOwn(prices, quality)

function areaOf(size: string): number | undefined {
  const [, width = 0, height = 0] = (/^(\d{1,5})x(\d{1,5})$/.exec(size) ?? []).map(Number)
  return width * height || undefined
}

/** A smaller image costs as much as the one that the price lists name. */
const scale = (area: number): number => Math.max(1, area / pricedArea)

/** Prices what a request asks for. The vendor may take its best quality where the request names none, or one of its own. */
export function priceImage(choice: MediaChoice<'image'>, { quality, size }: ImageOptions): ImagePrice {
  const { usd } = choice
  const prices = models.image[choice.provider]?.find(({ model }) => model === choice.model)?.byQuality
  if (!prices) return { usd, maxUsd: usd }
  const area = areaOf(size ?? '')
  const asked = quality ?? 'auto'
  const highest = isPriced(prices, asked) ? prices[asked] : prices.high
  const probable = asked === 'auto' ? prices.medium : highest
  return { usd: probable * scale(area ?? pricedArea), maxUsd: highest * scale(area ?? unknownArea) }
}

export type MediaChoice<Use extends MediaUse = MediaUse> = {
  readonly provider: MediaProvider<Use>
  readonly model: string
  /** USD for one unit; undefined for a model without a known price. */
  readonly usd: number | undefined
  /** Empty for the binding. */
  readonly baseUrl: string
  readonly keys: readonly string[]
}

/** Another path at the same vendor than the one that models and searches use. */
const mediaAddress: Readonly<Record<string, (baseUrl: string) => string>> = {
  gemini: (baseUrl) => baseUrl.replace(/\/openai$/, ''),
  minimax: (baseUrl) => baseUrl.replace(/\/anthropic$/, '/v1'),
  groq: (baseUrl) => (baseUrl.endsWith('/v1') ? baseUrl : `${baseUrl}/v1`),
}

/** `wanted`: of the request. It replaces the settings. */
export function chooseMedia<Use extends MediaUse>(
  use: Use,
  deployment: ToolDeployment,
  wanted?: WantedMedia,
): MediaChoice<Use> | { readonly reason: string } {
  const found = findMediaProvider(use, deployment, wanted)
  if ('reason' in found) return found
  const { provider } = found
  const { model } = settingOfMedia(use, deployment, wanted)
  const { baseUrl, keys } = deployment.vendor(provider)
  const address = mediaAddress[provider]?.(baseUrl) ?? baseUrl
  return { provider, ...chooseModel(models[use][provider] ?? [], wanted?.model ?? model), baseUrl: address, keys }
}

function chooseModel(known: readonly MediaModel[], wanted: string | undefined) {
  const model = wanted ?? known[0]?.model ?? ''
  return { model, usd: known.find((one) => one.model === model)?.usd }
}
