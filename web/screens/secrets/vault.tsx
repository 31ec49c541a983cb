/** The vault: logins and addresses that the browser fills in, and where. Their values are never shown. */

import { useState } from 'preact/hooks'
import { api, get, type Page, path } from '../../api/client.ts'
import { can } from '../../api/me.ts'
import { Button } from '../../parts/button.tsx'
import { ask } from '../../parts/dialog.tsx'
import { Field, Form } from '../../parts/form.tsx'
import { Panel, useLoad } from '../../parts/load.tsx'
import { Switch } from '../../parts/switch.tsx'
import { t, wordsOf } from '../../words/words.ts'

type Entry = {
  readonly name: string
  readonly fields: readonly string[]
  readonly origins: readonly string[]
  readonly unasked_origins: readonly string[]
}

export function Vault() {
  const loaded = useLoad(() => get<Page<Entry>>('/api/vault?limit=100'), '')
  return (
    <section class="list-of">
      <h2>{say('title')}</h2>
      <p class="note">{say('about')}</p>
      <Panel of={loaded}>
        {({ data }) => (
          <ul class="list-of">
            {data.map((entry) => (
              <EntryRow key={entry.name} entry={entry} onChange={loaded.reload} />
            ))}
            {!data.length && <li class="note">{say('none')}</li>}
          </ul>
        )}
      </Panel>
      {can('approve') && <NewEntry onAdded={loaded.reload} />}
    </section>
  )
}

type RowProps = { readonly entry: Entry; readonly onChange: () => Promise<void> }

function EntryRow({ entry: { name, fields, origins, unasked_origins: unasked }, onChange }: RowProps) {
  const change = async (origin: string) => {
    const free = unasked.includes(origin) ? unasked.filter((one) => one !== origin) : [...unasked, origin]
    await api('PATCH', path`/api/vault/${name}`, { body: { origins, unasked_origins: free } })
    await onChange()
  }
  const remove = async () => {
    const text = say('removeText', { name })
    if ((await ask({ title: t('delete'), text, action: t('delete'), isDangerous: true })) === undefined) return
    await api('DELETE', path`/api/vault/${name}`)
    await onChange()
  }
  return (
    <li class="card">
      <div class="row">
        <strong class="grow">{name}</strong>
        <span class="note">{fields.join(', ')}</span>
        {can('approve') && (
          <Button label={`${t('delete')}: ${name}`} onClick={remove}>
            {t('delete')}
          </Button>
        )}
      </div>
      {origins.map((origin) => (
        <p key={origin} class="row">
          <code class="grow">{origin}</code>
          <Switch
            label={say('unaskedFor', { name, origin })}
            text={say('unasked')}
            isOn={unasked.includes(origin)}
            onChange={() => change(origin)}
            isFixed={!can('approve')}
          />
        </p>
      ))}
    </li>
  )
}

/** `name: value` on each line. */
const parseFields = (text: string): Readonly<Record<string, string>> =>
  Object.fromEntries(
    text.split('\n').flatMap((line) => {
      const at = line.indexOf(':')
      return at > 0 ? [[line.slice(0, at).trim(), line.slice(at + 1).trim()]] : []
    }),
  )

const empty = { name: '', origin: '', username: '', password: '', totp: '', more: '' }

function NewEntry({ onAdded }: { readonly onAdded: () => Promise<void> }) {
  const [values, setValues] = useState(empty)
  const set = (field: keyof typeof empty) => (value: string) => setValues((before) => ({ ...before, [field]: value }))
  const add = async () => {
    const { name, origin, more, ...login } = values
    const given = Object.entries(login).filter(([, value]) => value !== '')
    const fields = { ...Object.fromEntries(given), ...parseFields(more) }
    await api('POST', '/api/vault', {
      body: { name: name.trim(), origins: [origin.trim().replace(/\/$/, '')], fields },
    })
    setValues(empty)
    await onAdded()
  }
  return (
    <Form label={say('add')} action={t('save')} onSend={add}>
      <Field label={t('name')} value={values.name} onChange={set('name')} />
      <Field label={say('site')} value={values.origin} onChange={set('origin')} hint={say('siteHint')} />
      <Field label={say('username')} value={values.username} onChange={set('username')} />
      <Field label={say('password')} kind="password" value={values.password} onChange={set('password')} />
      <Field label={say('totp')} kind="password" value={values.totp} onChange={set('totp')} hint={say('totpHint')} />
      <Field label={say('more')} kind="area" value={values.more} onChange={set('more')} hint={say('moreHint')} />
    </Form>
  )
}

const { say } = wordsOf(
  {
    about:
      'The browser fills these in at exactly these sites. The agent names an entry and never sees a value. You are asked before each fill, unless you allow it here.',
    add: 'Add or replace a login or address',
    more: 'Further fields',
    moreHint: 'One on each line, as street: 12 Long Road.',
    none: 'Nothing in the vault yet.',
    password: 'Password',
    removeText: 'Delete {name}? The agent cannot sign in with it any more.',
    site: 'Site',
    siteHint: 'Exactly as it begins in the address line: https://shop.example.com',
    title: 'Vault of the browser',
    totp: 'Secret for one-time codes',
    totpHint: 'The key that the site shows for an authenticator app, or its otpauth address.',
    unasked: 'Without asking',
    unaskedFor: 'Fill in {name} at {origin} without asking',
    username: 'User name',
  },
  {
    about:
      'Der Browser füllt das auf genau diesen Seiten aus. Der Agent nennt einen Eintrag und sieht nie einen Wert. Du wirst vor jedem Ausfüllen gefragt, wenn du es hier nicht erlaubst.',
    add: 'Anmeldung oder Adresse hinzufügen oder ersetzen',
    more: 'Weitere Felder',
    moreHint: 'Je Zeile eines, wie street: Langer Weg 12.',
    none: 'Noch nichts im Tresor.',
    password: 'Passwort',
    removeText: '{name} löschen? Der Agent kann sich damit nicht mehr anmelden.',
    site: 'Seite',
    siteHint: 'Genau wie am Anfang der Adresszeile: https://shop.example.com',
    title: 'Tresor des Browsers',
    totp: 'Schlüssel für Einmalcodes',
    totpHint: 'Der Schlüssel, den die Seite für eine Authenticator-App zeigt, oder die otpauth-Adresse.',
    unasked: 'Ohne Nachfrage',
    unaskedFor: '{name} bei {origin} ohne Nachfrage ausfüllen',
    username: 'Benutzername',
  },
)
