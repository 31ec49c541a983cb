/** The people who may write in direct chats, or call, without a code. */

import { useState } from 'preact/hooks'
import { api, path } from '../../api/client.ts'
import { Field, Form } from '../../parts/form.tsx'
import { t } from '../../words/words.ts'
import type { Channel } from './channel.ts'
import { say } from './channel-words.ts'

type FieldProps = { readonly value: string; readonly onChange: (value: string) => void }

export const WritersField = ({ value, onChange }: FieldProps) => (
  <Field label={say('writers')} raw="allow_users" hint={say('writersHint')} value={value} onChange={onChange} />
)

/** Names of people on some platforms have spaces. */
export const readList = (text: string): readonly string[] =>
  text
    .split(',')
    .map((one) => one.trim())
    .filter(Boolean)

type FormProps = { readonly of: Channel; readonly onSaved: () => Promise<void> }

export function WritersForm({ of: { id, settings }, onSaved }: FormProps) {
  const [text, setText] = useState(settings.allow_users.join(', '))
  const save = async () => {
    await api('PATCH', path`/api/channels/${id}`, { body: { settings: { allow_users: readList(text) } } })
    await onSaved()
  }
  return (
    <Form label={say('writers')} action={t('save')} onSend={save}>
      <WritersField value={text} onChange={setText} />
    </Form>
  )
}
