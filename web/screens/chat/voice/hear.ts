/** Records one utterance: until somebody is quiet, or says by a button that it is whole. */

import { addLevel, hasEnded, noActivity } from '../../../model/voice-activity.ts'
import { language } from '../../../words/words.ts'
import { startRecording } from '../composer/recorder.ts'
import { fetchText } from '../composer/voice.tsx'
import type { Microphone } from './microphone.ts'

export type Hearing = {
  readonly microphone: Microphone
  /** Ends the utterance now. */
  readonly whole: AbortSignal
  /** Ends the voice mode. */
  readonly gone: AbortSignal
  readonly onEnd: () => void
}

/** Nothing was said for so long: the recording begins anew, so that it stays short. */
const maxQuietMs = 20_000

/** Resolves to the words, or to nothing when none were heard. */
export async function hearByVendor({ microphone, whole, gone, onEnd }: Hearing): Promise<string> {
  const recording = await startRecording({ stream: microphone.stream, onSecond: () => {}, onFull: () => {} })
  let activity = noActivity
  let isWhole = false
  const finish = () => {
    isWhole = true
    recording.stop()
  }
  const unwatch = microphone.watch((level, ms) => {
    activity = addLevel(activity, level, ms)
    if (hasEnded(activity)) finish()
    else if (!activity.hasSpoken && activity.quietMs > maxQuietMs) recording.discard()
  })
  whole.addEventListener('abort', finish)
  gone.addEventListener('abort', recording.discard)
  if (whole.aborted) finish()
  if (gone.aborted) recording.discard()
  const sound = await recording.sound
  unwatch()
  whole.removeEventListener('abort', finish)
  gone.removeEventListener('abort', recording.discard)
  if (!sound || !isWhole) return ''
  onEnd()
  return fetchText(sound)
}

/** The part of the Web Speech API that the voice mode uses. */
type Recognition = EventTarget & { lang: string; start: () => void; stop: () => void; abort: () => void }
type Recognised = Event & {
  readonly results: ArrayLike<ArrayLike<{ readonly transcript: string }> & { readonly isFinal: boolean }>
}
type Failed = Event & { readonly error: string }

const quietErrors = new Set(['no-speech', 'aborted'])

export function hearByBrowser({ whole, gone, onEnd }: Hearing): Promise<string> {
  const { webkitSpeechRecognition: Recogniser } = globalThis as unknown as {
    readonly webkitSpeechRecognition: new () => Recognition
  }
  const recognition = new Recogniser()
  recognition.lang = language.value
  return new Promise((resolve, reject) => {
    let words = ''
    const stop = () => recognition.stop()
    const abort = () => recognition.abort()
    recognition.addEventListener('result', (event) => {
      words = Array.from((event as Recognised).results, (result) => result[0]?.transcript ?? '').join(' ')
    })
    recognition.addEventListener('speechend', onEnd)
    recognition.addEventListener('error', (event) => {
      const { error } = event as Failed
      if (!quietErrors.has(error)) reject(new Error(error))
    })
    recognition.addEventListener('end', () => {
      whole.removeEventListener('abort', stop)
      gone.removeEventListener('abort', abort)
      resolve(gone.aborted ? '' : words.trim())
    })
    whole.addEventListener('abort', stop)
    gone.addEventListener('abort', abort)
    recognition.start()
  })
}
