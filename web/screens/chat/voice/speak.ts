/** Speaks sentences in their order, by the configured vendor or by the browser, until it is interrupted. */

import { send } from '../../../api/client.ts'
import { showError } from '../../../parts/toast.ts'
import { language } from '../../../words/words.ts'

export type Speaker = {
  /** The sound of the next sentence is fetched while the one before is heard. */
  readonly add: (sentence: string) => void
  /** Resolves when all is said, or nothing more will be. */
  readonly finished: () => Promise<void>
}

type Say = (sentence: string, signal: AbortSignal) => () => Promise<void>

/** A name of OpenAI, for which the server takes the configured vendor and voice. */
const model = 'tts-1'

export function createSpeaker(isByVendor: boolean, signal: AbortSignal): Speaker {
  const prepare = isByVendor ? fetchSpeech : prepareUtterance
  let last = Promise.resolve()
  return {
    add: (sentence) => {
      const play = prepare(sentence, signal)
      last = last.then(() => (signal.aborted ? undefined : play()))
      // It is awaited at the end.
      last.catch(() => undefined)
    },
    finished: () => last,
  }
}

const fetchSpeech: Say = (input, signal) => {
  const fetched = send('POST', '/v1/audio/speech', { body: { model, input }, signal }).then((answer) => answer.blob())
  fetched.catch(() => undefined)
  return async () => {
    try {
      await playSound(await fetched, signal)
    } catch (error) {
      if (signal.aborted) return
      if (!('speechSynthesis' in globalThis)) throw error
      // The conversation goes on with the voice of the browser, and says why.
      showError(error)
      await prepareUtterance(input, signal)()
    }
  }
}

async function playSound(sound: Blob, signal: AbortSignal): Promise<void> {
  const url = URL.createObjectURL(sound)
  const audio = new Audio(url)
  try {
    await new Promise<void>((resolve, reject) => {
      signal.addEventListener('abort', () => resolve())
      audio.addEventListener('ended', () => resolve())
      audio.addEventListener('error', () => reject(new Error(audio.error?.message ?? '')))
      audio.play().catch(reject)
    })
  } finally {
    audio.pause()
    URL.revokeObjectURL(url)
  }
}

const prepareUtterance: Say = (sentence, signal) => () =>
  new Promise((resolve) => {
    const said = new SpeechSynthesisUtterance(sentence)
    said.lang = language.value
    const end = () => resolve()
    said.addEventListener('end', end)
    said.addEventListener('error', end)
    signal.addEventListener('abort', () => {
      speechSynthesis.cancel()
      resolve()
    })
    speechSynthesis.speak(said)
  })
