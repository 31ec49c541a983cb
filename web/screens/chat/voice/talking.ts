/** Tracks whether the voice mode is on, and whether this browser and deployment can have it. */

import { signal } from '@preact/signals'
import { me } from '../../../api/me.ts'

export const isTalking = signal(false)

/** Browsers have no microphone for pages of plain http from afar. */
export const hasMicrophone = 'mediaDevices' in navigator && 'MediaRecorder' in globalThis

export const hasFeature = (name: string): boolean => me.value?.features.includes(name) === true

/** Speech is turned into words by the configured vendor, else by the browser; so are answers into speech. */
export const canTalk = (): boolean =>
  hasMicrophone &&
  (hasFeature('transcription') || 'webkitSpeechRecognition' in globalThis) &&
  (hasFeature('speech') || 'speechSynthesis' in globalThis)
