/** Writes down what a voice message says, billed to its session. A text that was paid for is not bought again. */

import { detectMediaType } from '#agent/core/media/detect-media-type.ts'
import { estimateSeconds } from '#backends/media/join-sound.ts'
import { MediaFailure } from '#backends/media/vendor.ts'
import { transcribe } from '#durable/models/media/transcribe.ts'
import { lostCall, openBill } from './buy-once.ts'
import { type MediaHost, requireMedia, createTransport } from './media-host.ts'
import type { MediaRows } from './media-rows.ts'
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

/** A row without a text is one of a call that runs here, or that an eviction has interrupted. */
const running = new WeakMap<MediaRows, Map<string, Promise<string>>>()

async function renderText(host: MediaHost, voice: VoiceMessage, id: string): Promise<string> {
  const { rows } = host
  const known = rows.get(id)
  if (known?.text !== undefined) return known.text
  const calls = running.get(rows) ?? new Map<string, Promise<string>>()
  running.set(rows, calls)
  const current = calls.get(id)
  if (current) return current
  if (known) throw lostCall()
  const call = buyText(host, voice, id).finally(() => calls.delete(id))
  calls.set(id, call)
  return call
}

async function buyText(host: MediaHost, { bytes, mime: named, signal }: VoiceMessage, id: string): Promise<string> {
  const choice = requireMedia(host, 'transcription')
  const { mime, extension } = detectMediaType(bytes) ?? { mime: named, extension: named.split('/')[1] ?? 'bin' }
  const seconds = estimateSeconds(bytes, mime)
  if (seconds > maxSeconds) throw new MediaFailure('refused', 'The recording is longer than an hour.')
  const bill = await openBill(host, { id, use: 'transcription', choice, units: seconds / 60, stem: '' })
  const model = `${choice.provider}/${choice.model}`
  host.rows.put({ id, state: 'sent', model, tries: 0 })
  try {
    const { text } = await transcribe(createTransport(host, signal), choice, {
      bytes,
      mime,
      name: `voice.${extension}`,
    })
    bill.pay()
    host.rows.put({ id, state: 'done', model, tries: 0, text })
    return text
  } catch (error) {
    if (error instanceof MediaFailure && error.kind !== 'unknown') {
      host.rows.delete(id)
      bill.cancel()
    } else bill.pay()
    throw error
  }
}
