/** The prompt library: texts that the message field offers behind a slash. */

import { useState } from 'preact/hooks'
import { api } from '../../api/client.ts'
import { can } from '../../api/me.ts'
import { Button } from '../../parts/button.tsx'
import { Field, Form } from '../../parts/form.tsx'
import { showDone } from '../../parts/toast.ts'
import { t, wordsOf } from '../../words/words.ts'

export type Prompts = Readonly<Record<string, string>>

type Props = { readonly prompts: Prompts; readonly onSaved: (settings: object) => void }

export function PromptLibrary({ prompts, onSaved }: Props) {
  const [name, setName] = useState('')
  const [text, setText] = useState('')
  const change = async (changed: Readonly<Record<string, string | null>>) =>
    onSaved(await api<object>('PATCH', '/api/settings', { body: { prompts: changed } }))
  const save = async () => {
    await change({ [name.trim()]: text.trim() })
    setName('')
    setText('')
    showDone(t('saved'))
  }
  const edit = (one: string) => {
    setName(one)
    setText(prompts[one] ?? '')
  }
  return (
    <details class="list-of">
      <summary>{t('prompts')}</summary>
      <p class="note">{say('promptsText')}</p>
      <ul class="list-of">
        {Object.entries(prompts).map(([one, words]) => (
          <li key={one} class="card row">
            <strong>/{one}</strong>
            <span class="note clip grow" dir="auto">
              {words}
            </span>
            {can('write') && (
              <>
                <Button label={`${t('edit')}: ${one}`} onClick={() => edit(one)}>
                  {t('edit')}
                </Button>
                <Button label={`${t('delete')}: ${one}`} onClick={() => change({ [one]: null })}>
                  {t('delete')}
                </Button>
              </>
            )}
          </li>
        ))}
      </ul>
      {can('write') && (
        <Form label={say('newPrompt')} action={t('save')} onSend={save}>
          <Field label={t('name')} value={name} onChange={setName} hint={t('promptNameHint')} />
          <Field label={t('text')} value={text} onChange={setText} kind="area" />
        </Form>
      )}
    </details>
  )
}

const { say } = wordsOf(
  {
    promptsText: 'Texts that the message field offers behind /, to everybody of this tenant.',
    newPrompt: 'Add or change a prompt',
  },
  {
    promptsText: 'Texte, die das Nachrichtenfeld hinter / anbietet, für alle dieses Mandanten.',
    newPrompt: 'Vorlage hinzufügen oder ändern',
  },
)
