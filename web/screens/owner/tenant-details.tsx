/** Edits what the operator grants to a tenant: limits, where an empty field is none, and mail addresses; changes its data key. */

import { useState } from 'preact/hooks'
import { api, path } from '../../api/client.ts'
import { Button } from '../../parts/button.tsx'
import { ask } from '../../parts/dialog.tsx'
import { Field, Form } from '../../parts/form.tsx'
import { t, wordsOf } from '../../words/words.ts'

const names = [
  'usd_per_day',
  'usd_per_month',
  'usd_per_session',
  'tokens_per_day',
  'tokens_per_month',
  'requests_per_minute',
  'concurrent_turns',
  'storage_bytes',
  'jobs',
  'children',
]

type Tenant = {
  readonly id: string
  readonly limits: Readonly<Record<string, number>>
  readonly mail: readonly string[]
}
type Props = { readonly tenant: Tenant; readonly onChange: () => Promise<void> }

export function TenantLimits({ tenant: { id, limits }, onChange }: Props) {
  const [texts, setTexts] = useState<Readonly<Record<string, string>>>({})
  const shown = [...new Set([...names, ...Object.keys(limits)])]
  const save = async () => {
    const all = shown.map((name) => [name, texts[name] ?? String(limits[name] ?? '')] as const)
    const set = all.filter(([, text]) => text.trim()).map(([name, text]) => [name, Number(text)] as const)
    await api('PATCH', path`/api/admin/tenants/${id}`, { body: { limits: Object.fromEntries(set) } })
    await onChange()
  }
  return (
    <details>
      <Summary title={t('limits')} count={Object.keys(limits).length} />
      <Form label={`${t('limits')}: ${id}`} action={t('save')} onSend={save}>
        <p class="note">{say('limitHint')}</p>
        {shown.map((name) => (
          <Field
            key={name}
            label={name}
            value={texts[name] ?? String(limits[name] ?? '')}
            onChange={(text) => setTexts({ ...texts, [name]: text })}
          />
        ))}
      </Form>
    </details>
  )
}

export function TenantMail({ tenant: { id, mail }, onChange }: Props) {
  const [text, setText] = useState<string>()
  const save = async () => {
    if (text === undefined) return
    const assigned = [...new Set(text.split(/[\s,;]+/u).filter(Boolean))]
    await api('PATCH', path`/api/admin/tenants/${id}`, { body: { mail: assigned } })
    setText(undefined)
    await onChange()
  }
  return (
    <details>
      <Summary title={say('mailOfTenant')} count={mail.length} />
      <Form label={`${say('mailOfTenant')}: ${id}`} action={t('save')} onSend={save}>
        <Field
          label={say('mailAssigned')}
          hint={say('mailHint')}
          kind="area"
          value={text ?? mail.join('\n')}
          onChange={setText}
        />
      </Form>
    </details>
  )
}

type Rotated = { readonly resealed: number; readonly unreadable: readonly string[] }

/** Gives the tenant a new data key. What the old one has sealed is sealed again at once. */
export function RotateKey({ id }: { readonly id: string }) {
  const [done, setDone] = useState<Rotated>()
  const rotate = async () => {
    const question = { title: say('rotate'), text: say('rotateText', { id }), action: say('rotate') }
    if ((await ask(question)) === undefined) return
    setDone(await api<Rotated>('POST', path`/api/admin/tenants/${id}/rotate-key`))
  }
  return (
    <div class="row">
      <Button label={`${say('rotate')}: ${id}`} onClick={rotate}>
        {say('rotate')}
      </Button>
      <span role="status" class="note">
        {done && say('rotated', { count: done.resealed })}
      </span>
      {done && done.unreadable.length > 0 && (
        <p class="failure" dir="auto">
          {say('unreadable', { names: done.unreadable.join(', ') })}
        </p>
      )}
    </div>
  )
}

const { say } = wordsOf(
  {
    limitHint: 'empty: no limit',
    mailAssigned: 'Assigned by the operator',
    mailHint: 'One on each line: an address, a domain such as @example.com, or * for all. Channels may use no others.',
    mailOfTenant: 'Mail addresses',
    rotate: 'New data key',
    rotateText: 'Seal all keys, secrets and channels of {id} again with a new data key? Nothing stops meanwhile.',
    rotated: 'Sealed again: {count}.',
    unreadable: 'These could not be opened and stay as they are: {names}',
  },
  {
    limitHint: 'leer: keine Grenze',
    mailAssigned: 'Vom Betreiber zugewiesen',
    mailHint:
      'Je eine in einer Zeile: eine Adresse, eine Domain wie @example.com oder * für alle. Kanäle dürfen keine anderen benutzen.',
    mailOfTenant: 'Mailadressen',
    rotate: 'Neuer Datenschlüssel',
    rotateText:
      'Alle Schlüssel, Geheimnisse und Kanäle von {id} mit einem neuen Datenschlüssel versiegeln? Nichts hält dabei an.',
    rotated: 'Neu versiegelt: {count}.',
    unreadable: 'Diese ließen sich nicht öffnen und bleiben, wie sie sind: {names}',
  },
)

const Summary = ({ title, count }: { readonly title: string; readonly count: number }) => (
  <summary>
    {title} {count > 0 && <span class="badge">{count}</span>}
  </summary>
)
