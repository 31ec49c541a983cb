/** Records the microphone until it is stopped, or until the API takes no more. */

import { wordsOf } from '../../../words/words.ts'

export type Recording = {
  /** Undefined: discarded. */
  readonly sound: Promise<Blob | undefined>
  readonly stop: () => void
  readonly discard: () => void
}
type Watch = {
  readonly onSecond: () => void
  readonly onFull: () => void
  /** An open microphone, which stays open. */
  readonly stream?: MediaStream
}

/** Of `/v1/audio/transcriptions`, less one second of sound and the form around it. */
const maxBytes = 24_900_000
const bitsPerSecond = 32_000
const types = ['audio/webm;codecs=opus', 'audio/mp4', 'audio/ogg;codecs=opus']

export async function startRecording({ onSecond, onFull, stream: open }: Watch): Promise<Recording> {
  const stream = open ?? (await openMicrophone())
  const mimeType = types.find((type) => MediaRecorder.isTypeSupported(type))
  const recorder = new MediaRecorder(stream, { ...(mimeType && { mimeType }), audioBitsPerSecond: bitsPerSecond })
  const parts: Blob[] = []
  let isDiscarded = false
  const stop = () => void (recorder.state !== 'inactive' && recorder.stop())
  const sound = new Promise<Blob | undefined>((resolve) => {
    recorder.addEventListener('dataavailable', ({ data }) => {
      parts.push(data)
      onSecond()
      if (recorder.state === 'inactive' || parts.reduce((sum, { size }) => sum + size, 0) < maxBytes) return
      onFull()
      stop()
    })
    recorder.addEventListener('stop', () => {
      if (!open) for (const track of stream.getTracks()) track.stop()
      resolve(isDiscarded ? undefined : new Blob(parts, { type: recorder.mimeType }))
    })
  })
  recorder.start(1_000)
  const discard = () => {
    isDiscarded = true
    stop()
  }
  return { sound, stop, discard }
}

export async function openMicrophone(): Promise<MediaStream> {
  try {
    return await navigator.mediaDevices.getUserMedia({ audio: true })
  } catch (error) {
    const { name } = error as DOMException
    if (name === 'NotAllowedError' || name === 'SecurityError') throw new Error(say('micDenied'), { cause: error })
    if (name === 'NotFoundError') throw new Error(say('micMissing'), { cause: error })
    throw error
  }
}

const { say } = wordsOf(
  {
    micDenied: 'The browser does not let this page use the microphone. Allow it in the settings of this site.',
    micMissing: 'There is no microphone.',
  },
  {
    micDenied: 'Der Browser lässt diese Seite nicht ans Mikrofon. Das geht in den Einstellungen dieser Website.',
    micMissing: 'Es gibt kein Mikrofon.',
  },
)
