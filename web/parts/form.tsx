/** Fields and forms. A form sends once, shows that it works, and says what failed. */

import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { t } from '../words/words.ts'
import { explain } from './toast.ts'

type FieldProps = {
  readonly label: string
  readonly value: string
  readonly onChange: (value: string) => void
  readonly kind?: 'text' | 'password' | 'area'
  readonly hint?: string
  /** The name in the API, where the label is another one. */
  readonly raw?: string | undefined
}

export const Field = ({ label, value, onChange, kind = 'text', hint, raw }: FieldProps) => (
  <label>
    <span>
      {label} {raw !== undefined && raw !== label && <code class="note">{raw}</code>}
    </span>
    {kind === 'area' ? (
      <textarea value={value} dir="auto" onInput={(event) => onChange(event.currentTarget.value)} />
    ) : (
      <Line value={value} isSecret={kind === 'password'} onChange={onChange} />
    )}
    {hint && <span class="note">{hint}</span>}
  </label>
)

type LineProps = Pick<FieldProps, 'value' | 'onChange'> & { readonly isSecret: boolean }

const Line = ({ value, isSecret, onChange }: LineProps) =>
  isSecret ? (
    <input type="password" autocomplete="off" value={value} onInput={(event) => onChange(event.currentTarget.value)} />
  ) : (
    <input dir="auto" autocomplete="off" value={value} onInput={(event) => onChange(event.currentTarget.value)} />
  )

type ChoiceProps = {
  readonly label: string
  readonly value: string
  readonly options: readonly (readonly [value: string, name: string])[]
  readonly onChange: (value: string) => void
}

export const Choice = ({ label, value, options, onChange }: ChoiceProps) => (
  <label>
    {label}
    <select value={value} onChange={(event) => onChange(event.currentTarget.value)}>
      {options.map(([one, name]) => (
        <option key={one} value={one}>
          {name}
        </option>
      ))}
    </select>
  </label>
)

type FormProps = {
  readonly label: string
  readonly action: string
  readonly onSend: () => Promise<unknown>
  readonly children: ComponentChildren
}

export function Form({ label, action, onSend, children }: FormProps) {
  const [isBusy, setBusy] = useState(false)
  const [error, setError] = useState<unknown>(undefined)
  const send = async (event: Event) => {
    event.preventDefault()
    setBusy(true)
    setError(undefined)
    try {
      await onSend()
    } catch (failure) {
      setError(failure)
    } finally {
      setBusy(false)
    }
  }
  return (
    <form class="form card" aria-label={label} onSubmit={(event) => void send(event)}>
      <h2>{label}</h2>
      {children}
      {error !== undefined && (
        <p class="failure" role="alert">
          {explain(error)}
        </p>
      )}
      <div class="row end">
        <button type="submit" class="button main" disabled={isBusy}>
          {isBusy ? t('loading') : action}
        </button>
      </div>
    </form>
  )
}
