/** Shows a question of the agent: choices, or a field. */

import { useState } from 'preact/hooks'
import { api, path } from '../../api/client.ts'
import type { Question } from '../../model/types.ts'
import { Button } from '../../parts/button.tsx'
import { useLate } from '../../parts/late.ts'
import { loadLateStyle } from '../../parts/late-style.ts'
import { showError } from '../../parts/toast.ts'
import { t } from '../../words/words.ts'
import { SessionLink } from '../sessions/session-link.tsx'
import { countWaiting } from '../sessions/sessions.ts'

export type QuestionProps = {
  readonly question: Question
  readonly isLinked?: boolean
  readonly onAnswered?: () => void
}

/** The question of an MCP server has a form, which is loaded when it is first needed. */
export function QuestionCard(props: QuestionProps) {
  const isForm = props.question.kind === 'elicitation'
  const Form = useLate<QuestionProps>(async () => {
    const [part] = await Promise.all([import('./elicitation-card.tsx'), loadLateStyle()])
    return part.ElicitationCard
  }, isForm)
  if (!isForm) return <PlainQuestion {...props} />
  return Form ? <Form {...props} /> : <div class="skeleton" role="img" aria-label={t('loading')} />
}

function PlainQuestion({ question, isLinked = false, onAnswered }: QuestionProps) {
  const { id, question: text, choices, multi_select: isMulti } = question
  const [chosen, setChosen] = useState<readonly string[]>([])
  const answer = async (given: string | readonly string[]) => {
    await api('POST', path`/api/questions/${id}`, { body: { answer: given } })
    onAnswered?.()
    await countWaiting()
  }
  const toggle = (choice: string) =>
    setChosen((before) => (before.includes(choice) ? before.filter((one) => one !== choice) : [...before, choice]))
  return (
    <section class="card waiting" role="alertdialog" aria-label={t('question')}>
      <p class="row">
        <strong dir="auto">{text}</strong>
        {isLinked && <SessionLink id={question.session_id} />}
      </p>
      <div class="row">
        {choices.map((choice) =>
          isMulti ? (
            <label key={choice} class="check">
              <input type="checkbox" checked={chosen.includes(choice)} onChange={() => toggle(choice)} />
              <span dir="auto">{choice}</span>
            </label>
          ) : (
            <Button key={choice} onClick={() => answer(choice)}>
              {choice}
            </Button>
          ),
        )}
      </div>
      <AnswerForm chosen={chosen} onSend={answer} />
    </section>
  )
}

type FormProps = {
  readonly chosen: readonly string[]
  readonly onSend: (given: string | readonly string[]) => Promise<void>
}

function AnswerForm({ chosen, onSend }: FormProps) {
  const [written, setWritten] = useState('')
  const [isBusy, setBusy] = useState(false)
  const own = written.trim()
  const isEmpty = !own && !chosen.length
  const submit = async () => {
    if (isEmpty || isBusy) return
    setBusy(true)
    await onSend(chosen.length ? [...chosen, ...(own ? [own] : [])] : own).catch(showError)
    setBusy(false)
  }
  return (
    <form
      class="row"
      onSubmit={(event) => {
        event.preventDefault()
        void submit()
      }}
    >
      <input
        class="grow"
        dir="auto"
        aria-label={t('answer')}
        placeholder={t('answer')}
        value={written}
        onInput={(event) => setWritten(event.currentTarget.value)}
      />
      <button type="submit" class="button main" disabled={isEmpty || isBusy}>
        {t('send')}
      </button>
    </form>
  )
}
