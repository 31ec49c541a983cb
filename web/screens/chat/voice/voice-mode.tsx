/** The voice mode: hears, sends what was said, speaks the answer, and hears again. Speech over an answer interrupts it. */

import { useEffect, useRef, useState } from 'preact/hooks'
import { addLevel, isInterrupting, noActivity } from '../../../model/voice-activity.ts'
import { Button, IconButton } from '../../../parts/button.tsx'
import { place } from '../../../parts/route.ts'
import { say as announce, showError } from '../../../parts/toast.ts'
import { t, wordsOf } from '../../../words/words.ts'
import { choiceOf } from '../models.ts'
import { stopReading } from '../read-aloud.ts'
import { timeline } from '../store.ts'
import { submit } from '../turns.ts'
import { readSentences } from './answer.ts'
import { hearByBrowser, hearByVendor } from './hear.ts'
import { type Microphone, openMicrophone } from './microphone.ts'
import { createSpeaker } from './speak.ts'
import { hasFeature, isTalking } from './talking.ts'

type State = 'starting' | 'listening' | 'writing' | 'thinking' | 'speaking'

export function VoiceMode() {
  const [state, setState] = useState<State>('starting')
  const meter = useRef<HTMLSpanElement>(null)
  const act = useRef<() => void>(() => {})
  useEffect(() => {
    const gone = new AbortController()
    converse({
      gone: gone.signal,
      onState: (next) => {
        setState(next)
        announce(say(next))
      },
      onLevel: (level) => meter.current?.style.setProperty('--level', `${Math.min(1, level * 8)}`),
      onAct: (work) => void (act.current = work),
    }).catch((error: unknown) => {
      if (!gone.signal.aborted) showError(error)
      isTalking.value = false
    })
    return () => gone.abort()
  }, [])
  useEndWithSession()
  const { approvals, questions } = timeline.value
  const isAsked = approvals.length + questions.length > 0
  return (
    <section class="voice-mode" aria-label={say('title')}>
      <span ref={meter} class={`voice-meter ${state}`} aria-hidden="true" />
      <p class="grow">
        {isAsked ? t('needsYou') : say(state)}
        {!hasFeature('transcription') && <span class="note">{say('byBrowser')}</span>}
      </p>
      {state === 'listening' && <Button onClick={() => act.current()}>{say('whole')}</Button>}
      {(state === 'thinking' || state === 'speaking') && (
        <Button onClick={() => act.current()}>{say('interrupt')}</Button>
      )}
      <IconButton icon="close" label={say('end')} onClick={() => void (isTalking.value = false)} />
    </section>
  )
}

/** Esc, and another session, end it. The first message of a new chat gives it its session. */
function useEndWithSession(): void {
  const session = useRef(place.value.id)
  useEffect(() => {
    if (session.current && session.current !== place.value.id) isTalking.value = false
    session.current = place.value.id
  }, [place.value.id])
  useEffect(() => {
    const onKey = ({ key }: KeyboardEvent) => void (key === 'Escape' && (isTalking.value = false))
    addEventListener('keydown', onKey)
    return () => removeEventListener('keydown', onKey)
  }, [])
}

type Talk = {
  readonly gone: AbortSignal
  readonly onState: (state: State) => void
  readonly onLevel: (level: number) => void
  /** Describes what the button does now. */
  readonly onAct: (work: () => void) => void
}

async function converse(talk: Talk): Promise<void> {
  stopReading()
  const microphone = await openMicrophone()
  const unwatch = microphone.watch(talk.onLevel)
  try {
    while (!talk.gone.aborted) await takeTurn(talk, microphone)
  } finally {
    unwatch()
    microphone.close()
  }
}

async function takeTurn(talk: Talk, microphone: Microphone): Promise<void> {
  const whole = new AbortController()
  talk.onAct(() => whole.abort())
  talk.onState('listening')
  const hear = hasFeature('transcription') ? hearByVendor : hearByBrowser
  const onEnd = () => talk.onState('writing')
  const words = await hear({ microphone, whole: whole.signal, gone: talk.gone, onEnd })
  if (words && !talk.gone.aborted) await answer(words, talk, microphone)
}

async function answer(words: string, talk: Talk, microphone: Microphone): Promise<void> {
  const interrupted = new AbortController()
  const signal = AbortSignal.any([interrupted.signal, talk.gone])
  let activity = noActivity
  const unwatch = microphone.watch((level, ms) => {
    activity = addLevel(activity, level, ms)
    if (isInterrupting(activity)) interrupted.abort()
  })
  talk.onAct(() => interrupted.abort())
  talk.onState('thinking')
  const speaker = createSpeaker(hasFeature('speech'), signal)
  try {
    // Words that come while a run goes on take its place.
    await submit({ text: words, attachments: [], mode: 'interrupt', ...choiceOf(place.value.id) })
    for await (const sentence of readSentences(words, signal)) {
      talk.onState('speaking')
      speaker.add(sentence)
    }
    await speaker.finished()
  } finally {
    unwatch()
  }
}

const { say } = wordsOf(
  {
    byBrowser: ' The browser recognises speech; it may send the sound to its maker.',
    end: 'End the voice mode',
    interrupt: 'Interrupt',
    listening: 'I am listening.',
    speaking: 'Speaking. Speak to interrupt.',
    starting: 'Opening the microphone …',
    thinking: 'Answering …',
    title: 'Voice mode',
    whole: 'Send',
    writing: 'Turning speech into text …',
  },
  {
    byBrowser: ' Der Browser erkennt die Sprache; er kann den Ton an seinen Hersteller senden.',
    end: 'Sprachmodus beenden',
    interrupt: 'Unterbrechen',
    listening: 'Ich höre zu.',
    speaking: 'Spricht. Sprich, um zu unterbrechen.',
    starting: 'Das Mikrofon wird geöffnet …',
    thinking: 'Antwortet …',
    title: 'Sprachmodus',
    whole: 'Senden',
    writing: 'Aus Sprache wird Text …',
  },
)
