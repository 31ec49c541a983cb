/** A modal dialog of the browser, and questions in it. */

import { signal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { useEffect, useId, useRef } from 'preact/hooks'
import { t } from '../words/words.ts'
import { Button } from './button.tsx'

type Props = {
  readonly title: string
  readonly onClose: () => void
  readonly children: ComponentChildren
  readonly isWide?: boolean
}

export function Dialog({ title, onClose, children, isWide = false }: Props) {
  const ref = useRef<HTMLDialogElement>(null)
  const id = useId()
  useEffect(() => {
    const dialog = ref.current
    if (!dialog?.open) dialog?.showModal()
    return () => dialog?.close()
  }, [])
  return (
    <dialog
      ref={ref}
      class={isWide ? 'dialog wide' : 'dialog'}
      aria-labelledby={id}
      onCancel={onClose}
      onClose={onClose}
    >
      <h2 id={id}>{title}</h2>
      {children}
    </dialog>
  )
}

type Question = {
  readonly title: string
  readonly text: string
  readonly action: string
  readonly isDangerous: boolean
  readonly field?: string
  readonly answer: (value: string | undefined) => void
}
const question = signal<Question | undefined>(undefined)

type Ask = Omit<Question, 'answer' | 'isDangerous' | 'text'> & {
  readonly text?: string
  readonly isDangerous?: boolean
}

/** Resolves to undefined when the person says no. With `field` it resolves to the text of the field, which begins with it. */
export const ask = ({ text = '', isDangerous = false, ...asked }: Ask): Promise<string | undefined> =>
  new Promise((resolve) => {
    const answer = (value: string | undefined) => {
      question.value = undefined
      resolve(value)
    }
    question.value = { ...asked, text, isDangerous, answer }
  })

export function Questions() {
  const asked = question.value
  const field = useRef<HTMLInputElement>(null)
  if (!asked) return null
  const accept = () => asked.answer(field.current?.value ?? '')
  return (
    <Dialog title={asked.title} onClose={() => asked.answer(undefined)}>
      <form
        onSubmit={(event) => {
          event.preventDefault()
          accept()
        }}
      >
        {asked.text && <p class="pre-line">{asked.text}</p>}
        {asked.field !== undefined && (
          <input ref={field} aria-label={asked.title} defaultValue={asked.field} dir="auto" />
        )}
        <div class="row end">
          <Button onClick={() => asked.answer(undefined)}>{t('cancel')}</Button>
          <Button kind={asked.isDangerous ? 'danger' : 'main'} onClick={accept}>
            {asked.action}
          </Button>
        </div>
      </form>
    </Dialog>
  )
}
