/** Shows what an MCP server asks: the fields of its form, or the page that it wants visited. */

import type { ComponentChildren } from 'preact'
import { useId, useRef, useState } from 'preact/hooks'
import { api, path } from '../../api/client.ts'
import { showBidi } from '../../markdown/links.ts'
import { openLink } from '../../markdown/open-link.ts'
import {
  contentOf,
  type FieldValue,
  type FormField,
  type FormValues,
  initialValues,
  readForm,
} from '../../model/question-form.ts'
import { Button } from '../../parts/button.tsx'
import { explain } from '../../parts/toast.ts'
import { t, wordsOf } from '../../words/words.ts'
import { SessionLink } from '../sessions/session-link.tsx'
import { countWaiting } from '../sessions/sessions.ts'
import type { QuestionProps } from './question-card.tsx'

type Answer = { readonly action: 'accept' | 'decline'; readonly content?: object }

export function ElicitationCard({ question, isLinked = false, onAnswered }: QuestionProps) {
  const { id, server = '', message = '', url, host = '', schema = {} } = question
  const form = useId()
  const fields = readForm(schema)
  const [values, setValues] = useState<FormValues>(() => initialValues(fields))
  const [error, setError] = useState<unknown>(undefined)
  const answer = async (body: Answer) => {
    setError(undefined)
    try {
      await api('POST', path`/api/questions/${id}`, { body })
      onAnswered?.()
      await countWaiting()
    } catch (failure) {
      setError(failure)
    }
  }
  const change = (name: string, value: FieldValue) => setValues((before) => ({ ...before, [name]: value }))
  return (
    <section class="card waiting" role="alertdialog" aria-label={t('question')}>
      <div class="facts">
        <p class="row">
          <strong dir="auto">{isHandOver(url) ? say('handOver') : say('asks', { server })}</strong>
          {isLinked && <SessionLink id={question.session_id} />}
        </p>
        {message && (
          <p class="pre-line" dir="auto">
            {message}
          </p>
        )}
        {url === undefined ? (
          <Fields
            id={form}
            fields={fields}
            values={values}
            onChange={change}
            onSend={() => answer({ action: 'accept', content: contentOf(fields, values) })}
          />
        ) : (
          <Place url={url} host={host} />
        )}
      </div>
      {error !== undefined && (
        <p class="failure" role="alert">
          {explain(error)}
        </p>
      )}
      <Choice form={url === undefined ? form : undefined} onAnswer={answer} />
    </section>
  )
}

type ChoiceProps = { readonly form: string | undefined; readonly onAnswer: (answer: Answer) => Promise<void> }

/** They stay in sight while a long form scrolls. */
const Choice = ({ form, onAnswer }: ChoiceProps) => (
  <div class="row">
    {form === undefined ? (
      <Button kind="main" onClick={() => onAnswer({ action: 'accept' })}>
        {say('done')}
      </Button>
    ) : (
      <button type="submit" class="button main" form={form}>
        {t('send')}
      </button>
    )}
    <Button onClick={() => onAnswer({ action: 'decline' })}>{t('deny')}</Button>
  </div>
)

/** Our own live view of the browser. Any other address is that of a stranger. */
const isHandOver = (url: string | undefined): boolean =>
  url !== undefined && URL.parse(url, location.href)?.origin === location.origin && url.includes('/#/browser/')

const Place = ({ url, host }: { readonly url: string; readonly host: string }) =>
  isHandOver(url) ? (
    <p>
      <a class="button" href={url.slice(url.indexOf('#'))}>
        {say('openBrowser')}
      </a>
    </p>
  ) : (
    <Address url={url} host={host} />
  )

/** The address is shown in full, because its host is all that a person can judge it by. */
const Address = ({ url, host }: { readonly url: string; readonly host: string }) => (
  <>
    <p>{say('visit', { host })}</p>
    <p>
      <code>{url}</code>
    </p>
    <p>
      <a class="button" href={url} onClick={(event) => openLink(event, { href: url, host, isSuspicious: true })}>
        {say('open', { host })}
      </a>
    </p>
  </>
)

type FieldsProps = {
  readonly id: string
  readonly fields: readonly FormField[]
  readonly values: FormValues
  readonly onChange: (name: string, value: FieldValue) => void
  readonly onSend: () => Promise<void>
}

function Fields({ id, fields, values, onChange, onSend }: FieldsProps) {
  const isBusy = useRef(false)
  const submit = async (event: Event) => {
    event.preventDefault()
    if (isBusy.current) return
    isBusy.current = true
    await onSend()
    isBusy.current = false
  }
  return (
    <form class="form" id={id} onSubmit={(event) => void submit(event)}>
      {fields.map((field) => (
        <Field
          key={field.name}
          field={field}
          value={values[field.name] ?? field.initial}
          onChange={(value) => onChange(field.name, value)}
        />
      ))}
    </form>
  )
}

type FieldProps = {
  readonly field: FormField
  readonly value: FieldValue
  readonly onChange: (value: FieldValue) => void
}

function Field({ field, value, onChange }: FieldProps) {
  const { kind, description, isRequired } = field
  const label = showBidi(field.label)
  const note = [showBidi(description), !isRequired && kind !== 'boolean' && say('optional')].filter(Boolean).join(' ')
  const hint = note && (
    <span class="note" dir="auto">
      {note}
    </span>
  )
  if (kind === 'choices')
    return <Choices field={field} label={label} hint={hint} chosen={value as readonly string[]} onChange={onChange} />
  if (kind === 'boolean')
    return (
      <label class="check">
        <input type="checkbox" checked={value === true} onChange={(event) => onChange(event.currentTarget.checked)} />
        <span dir="auto">{label}</span> {hint}
      </label>
    )
  return (
    <label>
      <span dir="auto">{label}</span>
      {kind === 'choice' ? (
        <Select field={field} value={String(value)} onChange={onChange} />
      ) : (
        <Line field={field} value={String(value)} onChange={onChange} />
      )}
      {hint}
    </label>
  )
}

type TextProps = Omit<FieldProps, 'value'> & { readonly value: string }

function Line({ field: { type, step, isRequired, limits }, value, onChange }: TextProps) {
  // Each type of a field has attributes of its own, and browsers ignore the others.
  const attributes: object = {
    type,
    ...limits,
    ...(type === 'number' && { step }),
    ...(type === 'text' && { dir: 'auto' }),
  }
  return (
    <input
      {...attributes}
      required={isRequired}
      value={value}
      onInput={(event) => onChange(event.currentTarget.value)}
    />
  )
}

const Select = ({ field: { options, isRequired }, value, onChange }: TextProps) => (
  <select required={isRequired} value={value} onChange={(event) => onChange(event.currentTarget.value)}>
    <option value="">{say('choose')}</option>
    {options.map(([one, shown]) => (
      <option key={one} value={one}>
        {showBidi(shown)}
      </option>
    ))}
  </select>
)

type ChoicesProps = {
  readonly field: FormField
  readonly label: string
  readonly hint: ComponentChildren
  readonly chosen: readonly string[]
  readonly onChange: (value: FieldValue) => void
}

const Choices = ({ field: { options }, label, hint, chosen, onChange }: ChoicesProps) => (
  <fieldset class="fieldset">
    <legend dir="auto">{label}</legend>
    {hint}
    {options.map(([value, shown]) => (
      <label key={value} class="check">
        <input
          type="checkbox"
          checked={chosen.includes(value)}
          onChange={(event) =>
            onChange(event.currentTarget.checked ? [...chosen, value] : chosen.filter((one) => one !== value))
          }
        />
        <span dir="auto">{showBidi(shown)}</span>
      </label>
    ))}
  </fieldset>
)

const { say } = wordsOf(
  {
    asks: 'The MCP server {server} asks',
    choose: 'Choose …',
    done: 'Done',
    handOver: 'The agent asks you to take the browser',
    open: 'Open {host}',
    openBrowser: 'Open the browser',
    optional: '(optional)',
    visit: 'It wants you to visit a page on {host}. Open it only if you know this host.',
  },
  {
    asks: 'Der MCP-Server {server} fragt',
    choose: 'Auswählen …',
    done: 'Erledigt',
    handOver: 'Der Agent bittet dich, den Browser zu übernehmen',
    open: '{host} öffnen',
    openBrowser: 'Browser öffnen',
    optional: '(freiwillig)',
    visit: 'Du sollst eine Seite auf {host} besuchen. Öffne sie nur, wenn du diesen Rechner kennst.',
  },
)
