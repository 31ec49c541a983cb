/** Tests a connection, shows what the platform has answered, and corrects its secrets. */

import { useState } from 'preact/hooks'
import { api, path } from '../../api/client.ts'
import { Field, Form } from '../../parts/form.tsx'
import { explainNow } from '../../parts/toast.ts'
import { englishFields, germanFields } from '../../words/field-names.ts'
import { germanHints } from '../../words/hints-de.ts'
import { language, t, wordsOf } from '../../words/words.ts'
import type { Check, Platform } from './channel.ts'
import { say } from './channel-words.ts'

const { nameOf } = wordsOf(englishFields, germanFields)
/** A name that is newer than the page is shown as the API has it. */
export const nameField = (name: string): string => nameOf('field', name)

/** A request that the server refuses is the answer, too: the channel exists, and can be corrected. */
export const testChannel = (id: string): Promise<Check> =>
  api<Check>('POST', `${path`/api/channels/${id}`}/test`).catch(async (error: unknown) => ({
    ok: false,
    detail: await explainNow(error),
  }))

export const Answer = ({ of: check }: { readonly of: Check | undefined }) => (
  <p class={check && !check.ok ? 'failure' : 'note'} role="status" dir="auto">
    {check && say('answered', { detail: check.detail })}
  </p>
)

type SecretsProps = {
  readonly of: Platform
  readonly values: Readonly<Record<string, string>>
  readonly onChange: (values: Readonly<Record<string, string>>) => void
}

export const Secrets = ({ of: { secrets }, values, onChange }: SecretsProps) =>
  secrets.map(({ name, required, hint, delivery }) => (
    <Field
      key={name}
      label={nameField(name)}
      raw={name}
      kind="password"
      hint={required || delivery !== undefined ? translateHint(hint) : t('generatedIfEmpty')}
      value={values[name] ?? ''}
      onChange={(value) => onChange({ ...values, [name]: value })}
    />
  ))

/** The API says it in English. */
const translateHint = (hint: string): string => (language.value === 'de' ? (germanHints[hint] ?? hint) : hint)

type FormProps = { readonly id: string; readonly of: Platform; readonly onSaved: () => Promise<void> }

export function SecretsForm({ id, of, onSaved }: FormProps) {
  const [secrets, setSecrets] = useState<Readonly<Record<string, string>>>({})
  const save = async () => {
    const given = Object.fromEntries(Object.entries(secrets).filter(([, value]) => value.trim()))
    if (Object.keys(given).length) await api('PATCH', path`/api/channels/${id}`, { body: { secrets: given } })
    setSecrets({})
    await onSaved()
  }
  return (
    <Form label={say('changeSecrets')} action={say('saveAndTest')} onSend={save}>
      <p class="note">{say('keptIfEmpty')}</p>
      <Secrets of={of} values={secrets} onChange={setSecrets} />
    </Form>
  )
}
