/** The keys of a tenant, or of all tenants for the owner: who uses them, new ones, and their end. */

import { useState } from 'preact/hooks'
import { api, get, type Page } from '../../api/client.ts'
import { can, me } from '../../api/me.ts'
import { Button } from '../../parts/button.tsx'
import { CopyOnce } from '../../parts/copy-once.tsx'
import { ask } from '../../parts/dialog.tsx'
import { Choice, Field, Form } from '../../parts/form.tsx'
import { Panel, useLoad } from '../../parts/load.tsx'
import { formatDate } from '../../words/format.ts'
import { t, wordsOf } from '../../words/words.ts'
import type { Scope } from '../../model/types.ts'
import { ScopeChoice } from './scope-choice.tsx'
import { Scopes } from './scopes.tsx'

type Key = {
  readonly id: string
  readonly tenant_id: string
  readonly name: string | null
  readonly scopes: readonly string[]
  readonly last_used_at: string | null
  readonly revoked_at?: string | null
  readonly key?: string
}
const allScopes = ['chat', 'read', 'write', 'jobs', 'approve', 'admin'] as const
const newScopes: readonly Scope[] = ['chat', 'read', 'write']

type Props = {
  /** The route of the keys. */
  readonly route: '/api/admin/keys' | '/api/keys'
  /** The ids that the owner may choose from. */
  readonly tenants?: readonly string[] | undefined
}

export function KeyList({ route, tenants }: Props) {
  const keys = useLoad(() => get<Page<Key>>(`${route}?limit=200`), route)
  const revoke = async ({ id, name }: Key) => {
    const text = say('revokeText', { name: name || id })
    if ((await ask({ title: t('revoke'), text, action: t('revoke'), isDangerous: true })) === undefined) return
    await api('DELETE', `${route}/${encodeURIComponent(id)}`)
    await keys.reload()
  }
  return (
    <section class="list-of">
      <h2>{say('keysTitle')}</h2>
      <Panel of={keys}>
        {({ data }) => (
          <ul class="list-of">
            {data.map((key) => (
              <Row key={key.id} of={key} hasTenant={tenants !== undefined} onRevoke={() => revoke(key)} />
            ))}
            {!data.length && <li class="note">{say('noKeys')}</li>}
          </ul>
        )}
      </Panel>
      {can('write') && <NewKey route={route} tenants={tenants} onCreated={keys.reload} />}
    </section>
  )
}

type RowProps = { readonly of: Key; readonly hasTenant: boolean; readonly onRevoke: () => Promise<void> }

const Row = ({ of: key, hasTenant, onRevoke }: RowProps) => (
  <li class="card row">
    <strong dir="auto">{key.name || key.id}</strong> {hasTenant && <code>{key.tenant_id}</code>}
    <span class="note grow">
      <Scopes of={key.scopes} />
      {key.last_used_at && ` · ${t('lastUsed', { at: formatDate(key.last_used_at) })}`}
    </span>
    {key.revoked_at ? (
      <span class="badge bad">{say('revoked')}</span>
    ) : (
      can('write') && (
        <Button onClick={onRevoke} label={`${t('revoke')}: ${key.name || key.id}`}>
          {t('revoke')}
        </Button>
      )
    )}
  </li>
)

type NewKeyProps = Props & { readonly onCreated: () => Promise<void> }

function NewKey({ route, tenants, onCreated }: NewKeyProps) {
  const [tenant, setTenant] = useState('default')
  const [name, setName] = useState('')
  const held = allScopes.filter((scope) => (tenants ? true : scope !== 'admin' && me.value?.key.scopes.includes(scope)))
  const [chosen, setChosen] = useState<readonly string[]>(newScopes.filter((scope) => held.includes(scope)))
  const [made, setMade] = useState<string | undefined>(undefined)
  const add = async () => {
    const body = { scopes: chosen, ...(tenants && { tenant_id: tenant }), ...(name.trim() && { name: name.trim() }) }
    const { key } = await api<Key>('POST', route, { body })
    setMade(key)
    setName('')
    await onCreated()
  }
  return (
    <>
      {made && <CopyOnce label={say('keyOnce')} value={made} />}
      <Form label={say('newKey')} action={t('add')} onSend={add}>
        {tenants && (
          <Choice
            label={t('tenant')}
            value={tenant}
            options={tenants.map((id) => [id, id] as const)}
            onChange={setTenant}
          />
        )}
        <Field label={t('name')} value={name} onChange={setName} />
        <ScopeChoice held={held} chosen={chosen} onChange={setChosen} />
      </Form>
    </>
  )
}

const { say } = wordsOf(
  {
    keyOnce: 'This key is shown once:',
    keysTitle: 'Keys',
    newKey: 'New key',
    noKeys: 'No keys yet.',
    revoked: 'Revoked',
    revokeText: 'Revoke the key {name}? Whatever uses it stops.',
  },
  {
    keyOnce: 'Dieser Schlüssel wird nur einmal gezeigt:',
    keysTitle: 'Schlüssel',
    newKey: 'Neuer Schlüssel',
    noKeys: 'Noch keine Schlüssel.',
    revoked: 'Entzogen',
    revokeText: 'Den Schlüssel {name} entziehen? Was ihn benutzt, hält an.',
  },
)
