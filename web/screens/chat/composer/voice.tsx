/** Turns speech into words of the message. A recording that could not be sent is kept for another try. */

import { useEffect, useRef, useState } from 'preact/hooks'
import { api } from '../../../api/client.ts'
import { IconButton } from '../../../parts/button.tsx'
import { say, showDone, showError } from '../../../parts/toast.ts'
import { t } from '../../../words/words.ts'
import { type Recording, startRecording } from './recorder.ts'

export type VoiceProps = { readonly onText: (text: string) => void }

type State =
  | { readonly kind: 'idle' | 'starting' | 'transcribing' }
  | { readonly kind: 'recording'; readonly recording: Recording }
  | { readonly kind: 'failed'; readonly sound: Blob }

const idle: State = { kind: 'idle' }

export function VoiceButton({ onText }: VoiceProps) {
  const [seconds, setSeconds] = useState(0)
  const { state, start, transcribe, drop } = useVoice(onText, setSeconds)
  switch (state.kind) {
    case 'idle':
    case 'starting':
      return <IconButton icon="mic" label={t('speak')} disabled={state.kind === 'starting'} onClick={start} />
    case 'recording':
      return (
        <>
          <span class="note recording">{t('recording', { seconds })}</span>
          <IconButton icon="done" label={t('writeDown')} onClick={state.recording.stop} />
          <IconButton icon="close" label={t('discard')} onClick={drop} />
        </>
      )
    case 'transcribing':
      return <span class="note">{t('transcribing')}</span>
    case 'failed':
      return (
        <>
          <IconButton icon="retry" label={t('writeDown')} onClick={() => transcribe(state.sound)} />
          <IconButton icon="close" label={t('discard')} onClick={drop} />
        </>
      )
  }
}

function useVoice(onText: VoiceProps['onText'], setSeconds: (seconds: number) => void) {
  const [state, setState] = useState<State>(idle)
  const recording = useRef<Recording>(undefined)
  const isGone = useRef(false)
  const tell = useRef(onText)
  tell.current = onText
  useEffect(
    () => () => {
      isGone.current = true
      recording.current?.discard()
    },
    [],
  )
  const transcribe = async (sound: Blob) => {
    setState({ kind: 'transcribing' })
    say(t('transcribing'))
    try {
      const text = await fetchText(sound)
      setState(idle)
      if (text) tell.current(text)
      else showDone(t('nothingSaid'))
    } catch (error) {
      setState({ kind: 'failed', sound })
      showError(error)
    }
  }
  const start = async () => {
    setState({ kind: 'starting' })
    let count = 0
    setSeconds(0)
    try {
      const begun = await startRecording({
        onSecond: () => setSeconds(++count),
        onFull: () => showDone(t('micFull')),
      })
      recording.current = begun
      if (isGone.current) return begun.discard()
      setState({ kind: 'recording', recording: begun })
      const sound = await begun.sound
      if (sound) await transcribe(sound)
    } catch (error) {
      setState(idle)
      showError(error)
    }
  }
  const drop = () => {
    recording.current?.discard()
    setState(idle)
  }
  return { state, start, transcribe, drop }
}

export async function fetchText(sound: Blob): Promise<string> {
  const body = new FormData()
  body.set('file', sound, 'speech')
  const { text } = await api<{ readonly text: string }>('POST', '/v1/audio/transcriptions', { body })
  return text.trim()
}
