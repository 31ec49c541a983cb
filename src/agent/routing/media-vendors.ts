/** Chooses who makes images, speech, transcriptions and video: by the settings, else the first vendor that has a key. */

import {
  imageProviders,
  speechProviders,
  transcriptionProviders,
  videoProviders,
} from '#agent/core/media/media-settings.ts'
import type { Availability, ToolDeployment } from '#agent/core/vendor/tool-deployment.ts'

const uses = {
  image: imageProviders,
  speech: speechProviders,
  transcription: transcriptionProviders,
  video: videoProviders,
} as const
export type MediaUse = keyof typeof uses
export type MediaProvider<Use extends MediaUse> = (typeof uses)[Use][number]

/** `usd`: for one unit: an image, 1,000 characters, a minute, or a second of video. Estimates from price lists. */
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
  },
  speech: {
    openai: [{ model: 'gpt-4o-mini-tts', usd: 0.015 }],
    elevenlabs: [{ model: 'eleven_multilingual_v2', usd: 0.3 }],
    gemini: [
      { model: 'gemini-3.8-flash-tts', usd: 0.015 },
      { model: 'gemini-3.8-flash-lite-tts', usd: 0.01 },
    ],
    'workers-ai': [{ model: '@cf/deepgram/aura-1', usd: 0.015 }],
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
  },
  video: {
    openai: [{ model: 'sora-2', usd: 0.1 }],
    fal: [{ model: 'fal-ai/kling-video/v2.5-turbo/pro/text-to-video', usd: 0.07 }],
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
  groq: (baseUrl) => (baseUrl.endsWith('/v1') ? baseUrl : `${baseUrl}/v1`),
}

const settingOf = { image: 'image', speech: 'tts', transcription: 'stt', video: 'video' } as const

type Wanted = { readonly provider?: string | undefined; readonly model?: string | undefined }

/** `wanted`: of the request. It replaces the settings. */
export function chooseMedia<Use extends MediaUse>(
  use: Use,
  deployment: ToolDeployment,
  wanted?: Wanted,
): MediaChoice<Use> | { readonly reason: string } {
  const setting: Wanted = wanted?.provider ? wanted : (settingsOf(use, deployment) ?? {})
  const providers = uses[use] as readonly MediaProvider<Use>[]
  const named = providers.filter((provider) => setting.provider === undefined || provider === setting.provider)
  const provider = named.find((one) => isUsable(one, deployment))
  if (provider === undefined) return { reason: explainMissing(named, deployment) }
  const { baseUrl, keys } = deployment.vendor(provider)
  const address = mediaAddress[provider]?.(baseUrl) ?? baseUrl
  return {
    provider,
    ...chooseModel(models[use][provider] ?? [], wanted?.model ?? setting.model),
    baseUrl: address,
    keys,
  }
}

function chooseModel(known: readonly MediaModel[], wanted: string | undefined) {
  const model = wanted ?? known[0]?.model ?? ''
  return { model, usd: known.find((one) => one.model === model)?.usd }
}

const settingsOf = (use: MediaUse, { settings }: ToolDeployment): Wanted | undefined => settings[settingOf[use]]

const isUsable = (provider: string, deployment: ToolDeployment): boolean =>
  provider === 'workers-ai' ? deployment.hasBinding('AI') : deployment.vendor(provider).keys.length > 0

function explainMissing(providers: readonly string[], deployment: ToolDeployment): string {
  const names = providers.map((one) =>
    one === 'workers-ai' ? 'bind AI' : `set ${deployment.vendor(one).variable || `${one.toUpperCase()}_API_KEY`}`,
  )
  const all = names.length > 1 ? `${names.slice(0, -1).join(', ')} or ${names.at(-1)}` : names[0]
  const text = `${all}, or store a key with POST /api/credentials.`
  return text.charAt(0).toUpperCase() + text.slice(1)
}

/** Tells tools whether somebody makes these media. */
export const mediaAvailability =
  (use: MediaUse) =>
  (deployment: ToolDeployment): Availability => {
    const found = chooseMedia(use, deployment)
    return 'reason' in found ? found : { by: found.provider }
  }
