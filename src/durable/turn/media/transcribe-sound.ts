/** Writes down what a voice message says, billed to its session. A text that was paid for is not bought again. */

import { detectMediaType } from '#agent/core/media/detect-media-type.ts'
import { estimateSeconds } from '#backends/media/join-sound.ts'
import { MediaFailure } from '#backends/media/vendor.ts'
import { transcribe } from '#durable/models/media/transcribe.ts'
import { buyText } from './buy-text.ts'
import { type MediaHost, requireMedia, createTransport } from './media-host.ts'
import { sha256Hex } from '#durable/platform/hash.ts'

export type VoiceMessage = {
  readonly bytes: Uint8Array<ArrayBuffer>
  readonly mime: string
  readonly signal?: AbortSignal
}

export type VoiceText =
  | { readonly kind: 'text'; readonly text: string }
  /** `not_configured`: nobody transcribes here. */
  | { readonly kind: 'refused'; readonly error: string; readonly reason: string }

/** Longer sound is a recording, not a message. */
const maxSeconds = 3_600

export async function transcribeVoice(host: MediaHost, voice: VoiceMessage): Promise<VoiceText> {
  try {
    return { kind: 'text', text: await renderText(host, voice, `voice ${await sha256Hex(voice.bytes)}`) }
  } catch (error) {
    if (!(error instanceof MediaFailure)) throw error
    return { kind: 'refused', error: error.message, reason: error.kind }
  }
}

const renderText = (host: MediaHost, { bytes, mime: named, signal }: VoiceMessage, id: string): Promise<string> =>
  buyText(host, {
    id,
    prepare: async () => {
      const choice = requireMedia(host, 'transcription')
      const { mime, extension } = detectMediaType(bytes) ?? { mime: named, extension: named.split('/')[1] ?? 'bin' }
      const seconds = estimateSeconds(bytes, mime)
      if (seconds > maxSeconds) throw new MediaFailure('refused', 'The recording is longer than an hour.')
      const request = { bytes, mime, name: `voice.${extension}` }
      return {
        offer: { use: 'transcription', choice, units: seconds / 60, stem: '' },
        ask: async () => (await transcribe(createTransport(host, signal), choice, request)).text,
      }
    },
  })
