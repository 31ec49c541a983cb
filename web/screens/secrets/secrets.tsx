/** Secrets for commands: their names, which of them commands get, and new ones. Their values are never shown. */

import { useState } from 'preact/hooks'
import { api, get, type Page, path } from '../../api/client.ts'
import { can } from '../../api/me.ts'
import { Button } from '../../parts/button.tsx'
import { ask } from '../../parts/dialog.tsx'
import { Field, Form } from '../../parts/form.tsx'
import { Panel, Screen, useLoad } from '../../parts/load.tsx'
import { Switch } from '../../parts/switch.tsx'
import { formatDate } from '../../words/format.ts'
import { t, wordsOf } from '../../words/words.ts'
import { Vault } from './vault.tsx'

type Secret = { readonly name: string; readonly last_four: string; readonly created_at: string }
type Settings = { readonly terminal?: { readonly secrets?: readonly string[] } }

export function Secrets() {
  const loaded = useLoad(async () => {
    const [secrets, settings] = await Promise.all([
      get<Page<Secret>>('/api/secrets?limit=100'),
      get<Settings>('/api/settings'),
    ])
    return { secrets: secrets.data, granted: settings.terminal?.secrets ?? [] }
  }, '')
  return (
    <Screen title={t('secrets')}>
      <p class="note">{say('about')}</p>
      <Panel of={loaded}>
        {({ secrets, granted }) => (
          <ul class="list-of">
            {secrets.map((secret) => (
              <SecretRow key={secret.name} secret={secret} granted={granted} onChange={loaded.reload} />
            ))}
            {!secrets.length && <li class="note">{say('none')}</li>}
          </ul>
        )}
      </Panel>
      {can('approve') ? <NewSecret onAdded={loaded.reload} /> : <p class="note">{say('needsApprove')}</p>}
      <Vault />
    </Screen>
  )
}

type RowProps = {
  readonly secret: Secret
  readonly granted: readonly string[]
  readonly onChange: () => Promise<void>
}

function SecretRow({ secret: { name, last_four: end, created_at: at }, granted, onChange }: RowProps) {
  const isGranted = granted.includes(name)
  const grant = async () => {
    const names = isGranted ? granted.filter((one) => one !== name) : [...granted, name]
    await api('PATCH', '/api/settings', { body: { terminal: { secrets: names.length ? names : null } } })
    await onChange()
  }
  const remove = async () => {
    const text = say('removeText', { name })
    if ((await ask({ title: t('delete'), text, action: t('delete'), isDangerous: true })) === undefined) return
    if (isGranted) await grant()
    await api('DELETE', path`/api/secrets/${name}`)
    await onChange()
  }
  return (
    <li class="card row">
      <strong>
        <code>{name}</code>
      </strong>
      <span class="note grow">
        …{end} · <time dateTime={at}>{formatDate(at)}</time>
      </span>
      <Switch
        label={say('grant', { name })}
        text={say('forCommands')}
        isOn={isGranted}
        onChange={grant}
        isFixed={!can('approve')}
      />
      {can('approve') && (
        <Button label={`${t('delete')}: ${name}`} onClick={remove}>
          {t('delete')}
        </Button>
      )}
    </li>
  )
}

function NewSecret({ onAdded }: { readonly onAdded: () => Promise<void> }) {
  const [name, setName] = useState('')
  const [value, setValue] = useState('')
  const add = async () => {
    await api('POST', '/api/secrets', { body: { name: name.trim(), value } })
    setName('')
    setValue('')
    await onAdded()
  }
  return (
    <Form label={say('add')} action={t('save')} onSend={add}>
      <Field label={t('name')} value={name} onChange={setName} hint={say('nameHint')} />
      <Field label={say('value')} kind="password" value={value} onChange={setValue} hint={say('valueHint')} />
    </Form>
  )
}

const { say } = wordsOf(
  {
    about: 'Values that commands find in their environment. The agent sees the names, never the values.',
    add: 'Add or replace a secret',
    forCommands: 'For commands',
    grant: 'Commands get {name}',
    nameHint: 'Capital letters, digits and _, as DEPLOY_TOKEN.',
    needsApprove: 'To change secrets a key needs the scope approve.',
    none: 'No secrets yet.',
    removeText: 'Delete {name}? Commands that need it fail from the next turn on.',
    value: 'Value',
    valueHint: '8 to 4096 characters on one line. Stored encrypted; only its last four characters are shown again.',
  },
  {
    about: 'Werte, die Befehle in ihrer Umgebung finden. Der Agent sieht die Namen, nie die Werte.',
    add: 'Geheimnis hinzufügen oder ersetzen',
    forCommands: 'Für Befehle',
    grant: 'Befehle bekommen {name}',
    nameHint: 'Großbuchstaben, Ziffern und _, wie DEPLOY_TOKEN.',
    needsApprove: 'Um Geheimnisse zu ändern, braucht ein Schlüssel das Recht approve.',
    none: 'Noch keine Geheimnisse.',
    removeText: '{name} löschen? Befehle, die es brauchen, scheitern ab dem nächsten Zug.',
    value: 'Wert',
    valueHint:
      '8 bis 4096 Zeichen in einer Zeile. Verschlüsselt gespeichert; nur die letzten vier Zeichen werden wieder gezeigt.',
  },
)
