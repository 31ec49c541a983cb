/** Defines the ports of tools that look at images and video, and make images, speech and video. */

import type { Authority } from '../permission/authority.ts'
import type { ImagePart } from '../message.ts'
import type { SpeechProvider } from './media-settings.ts'

export type MediaCall = { readonly callId: string; readonly signal: AbortSignal; readonly authority: Authority }

/** A file that was made: in the workspace and in R2. `path`: in the workspace. */
export type MediaFile = {
  readonly path: string
  readonly mime: string
  readonly bytes: number
  /** Works without a key for an hour. Empty without `ENCRYPTION_KEY`. */
  readonly url: string
}

export type MediaRefusal = { readonly kind: 'refused'; readonly error: string; readonly reason: string }

/** `workId`: of the job whose result comes as a message. */
export type MediaStarted = { readonly kind: 'started'; readonly workId: string; readonly model: string }

export type MediaMade = {
  readonly kind: 'made'
  readonly files: readonly MediaFile[]
  /** `provider/model`. */
  readonly model: string
  /** For the model, when something is not as usual. */
  readonly note?: string
}

export type MediaAnswer = MediaMade | MediaStarted | MediaRefusal

export type ImageOrder = {
  readonly prompt: string
  readonly aspect: 'landscape' | 'square' | 'portrait'
  /** Addresses or workspace paths of images to edit. */
  readonly images: readonly string[]
}

export type SpeechOrder = {
  readonly text: string
  readonly voice?: string | undefined
  readonly format?: 'mp3' | 'opus' | 'wav' | undefined
  readonly speed?: number | undefined
  readonly instructions?: string | undefined
  /** Instead of that of the settings. */
  readonly provider?: SpeechProvider | undefined
}

export type VideoOrder = {
  readonly prompt: string
  readonly aspect: 'landscape' | 'portrait'
  readonly seconds: number
  readonly image?: string | undefined
}

export type VideoAnswer = MediaStarted | MediaRefusal

/** `source`: an address or a workspace path. */
export type VideoQuestion = { readonly source: string; readonly question: string }

export type VideoAnalysis = { readonly kind: 'answered'; readonly text: string; readonly model: string } | MediaRefusal

export type Media = {
  readonly createImage: (order: ImageOrder, call: MediaCall) => Promise<MediaAnswer>
  readonly createSpeech: (order: SpeechOrder, call: MediaCall) => Promise<MediaAnswer>
  readonly startVideo: (order: VideoOrder, call: MediaCall) => Promise<VideoAnswer>
  readonly analyzeVideo: (question: VideoQuestion, call: MediaCall) => Promise<VideoAnalysis>
}

/** Region: left, top, width and height in pixels. */
export type LookRequest = {
  readonly source: string
  readonly question: string
  readonly region?: readonly number[] | undefined
}

export type Vision = {
  /** Stores a screenshot for a day. `jpeg`: in base64. Returns its path in the workspace, undefined when it could not be stored. */
  readonly keepScreenshot: (jpeg: string, callId: string) => Promise<string | undefined>
  /** Reads an image from an address or the workspace. */
  readonly load: (
    request: LookRequest,
    signal: AbortSignal,
  ) => Promise<{ readonly kind: 'image'; readonly image: ImagePart } | MediaRefusal>
  /** Asks a model that sees. */
  readonly ask: (
    image: ImagePart,
    question: string,
  ) => Promise<{ readonly kind: 'answered'; readonly text: string; readonly model: string } | MediaRefusal>
}
