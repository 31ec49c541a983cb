/** Chooses who makes images, speech, transcriptions and video, and who looks at video: by the settings, else the first vendor that has a key. */

import {
  analysisProviders,
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
  analysis: analysisProviders,
} as const
export type MediaUse = keyof typeof uses
export type MediaProvider<Use extends MediaUse> = (typeof uses)[Use][number]

const settingOf = {
  image: 'image',
  speech: 'tts',
  transcription: 'stt',
  video: 'video',
  analysis: 'video_analysis',
} as const

export type WantedMedia = { readonly provider?: string | undefined; readonly model?: string | undefined }

/** `wanted`: of the request. With a provider it replaces the settings. */
export const settingOfMedia = (
  use: MediaUse,
  { settings }: ToolDeployment,
  wanted: WantedMedia | undefined,
): WantedMedia => (wanted?.provider ? wanted : (settings[settingOf[use]] ?? {}))

export function findMediaProvider<Use extends MediaUse>(
  use: Use,
  deployment: ToolDeployment,
  wanted?: WantedMedia,
): { readonly provider: MediaProvider<Use> } | { readonly reason: string } {
  const asked = settingOfMedia(use, deployment, wanted).provider
  const providers = uses[use] as readonly MediaProvider<Use>[]
  const named = providers.filter((provider) => asked === undefined || provider === asked)
  const provider = named.find((one) => isUsable(one, deployment))
  return provider === undefined ? { reason: explainMissing(named, deployment) } : { provider }
}

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

/** Returns for tools whether somebody makes these media. */
export const mediaAvailability =
  (use: MediaUse) =>
  (deployment: ToolDeployment): Availability => {
    const found = findMediaProvider(use, deployment)
    return 'reason' in found ? found : { by: found.provider }
  }
