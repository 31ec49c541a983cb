/** Provides images, speech and vision to the tools of a session. Their code is loaded when it is used. */

import type { Media, Vision } from '#agent/core/media/media.ts'
import type { LateResult } from '../media/continue-media.ts'
import type { MediaHost, MediaSession } from '../media/media-host.ts'
import type { VoiceMessage, VoiceText } from '../media/transcribe-sound.ts'
import { MediaRows } from '../media/media-rows.ts'
import type { ToolPorts } from './tool-ports.ts'

export type SessionMedia = {
  readonly media: Media
  readonly vision: Vision
  /** The text of a voice message. Never rejects for an expected failure. */
  readonly transcribe: (voice: VoiceMessage) => Promise<VoiceText>
  /** Speaks the answer of a run, once. Returns the path of the file; undefined when there is none. */
  readonly speak: (text: string, run: string) => Promise<string | undefined>
  /** Whether a tool of the session has made the file at this path of the workspace. */
  readonly isMade: (path: string) => boolean
  /** Deletes from R2 what the session has made. */
  readonly removeFiles: () => Promise<void>
  /** When the alarm goes on with what is paid and not finished. */
  readonly getNextWake: () => number | undefined
  /** Goes on with it. The results are for the conversation. */
  readonly continueDue: () => Promise<readonly LateResult[]>
}

/** R2 deletes so many objects at once. */
const maxDeleted = 1_000

export function createSessionMedia(ports: ToolPorts, sql: SqlStorage, session: MediaSession): SessionMedia {
  const rows = new MediaRows(sql, session.hasTable)
  const host: MediaHost = { ...ports, ...session, rows }
  return {
    media: {
      createImage: async (order, call) => (await import('../media/create-media.ts')).createImage(host, order, call),
      createSpeech: async (order, call) => (await import('../media/create-media.ts')).createSpeech(host, order, call),
      startVideo: async (order, call) => (await import('../media/start-video.ts')).beginVideo(host, order, call),
      analyzeVideo: async (asked, call) => (await import('../media/analyze-video.ts')).analyzeVideo(host, asked, call),
    },
    vision: {
      keepScreenshot: async (jpeg, callId) =>
        (await import('../media/screenshots.ts')).keepScreenshot(host, jpeg, callId),
      load: async (request, signal) => (await import('../media/look.ts')).lookAt(host, request, signal),
      ask: async (image, question) => (await import('../media/look.ts')).askAbout(host, image, question),
    },
    transcribe: async (voice) => (await import('../media/transcribe-sound.ts')).transcribeVoice(host, voice),
    speak: async (text, run) => (await import('../media/speak-answer.ts')).speakAnswer(host, text, run),
    isMade: (path) => rows.hasFile(path),
    removeFiles: async () => {
      const keys = rows.listKeys()
      for (let at = 0; at < keys.length; at += maxDeleted)
        await ports.env.BLOBS?.delete(keys.slice(at, at + maxDeleted))
    },
    getNextWake: () => rows.getNextWake(),
    continueDue: async () => (await import('../media/continue-media.ts')).continueMedia(host),
  }
}
