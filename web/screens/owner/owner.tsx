/** Tenants and keys of the deployment, its health, and the audit log. */

import { useState } from 'preact/hooks'
import { api, get, type Page, path } from '../../api/client.ts'
import { ask } from '../../parts/dialog.tsx'
import { Button } from '../../parts/button.tsx'
import { Choice, Field, Form } from '../../parts/form.tsx'
import { Panel, Screen, useLoad } from '../../parts/load.tsx'
import { formatDate } from '../../words/format.ts'
import { t } from '../../words/words.ts'
import { Audit } from './audit.tsx'
import { Health } from './health.tsx'
import { TenantLimits } from './limits.tsx'

type Tenant = {
  readonly id: string
  readonly name: string
  readonly status: 'active' | 'suspended' | 'deleting'
  readonly limits: Readonly<Record<string, number>>
}
type Key = {
  readonly id: string
  readonly tenant_id: string
  readonly name: string | null
  readonly scopes: readonly string[]
  readonly last_used_at: string | null
  readonly revoked_at?: string | null
  readonly key?: string
}
const scopes = ['chat', 'read', 'write', 'jobs', 'approve', 'admin']

export function Owner() {
  const tenants = useLoad(() => get<Page<Tenant>>('/api/admin/tenants?limit=200'), '')
  return (
    <Screen title={t('owner')}>
      <Panel of={tenants}>
        {({ data }) => (
          <>
            <Tenants list={data} onChange={tenants.reload} />
            <Keys tenants={data} />
          </>
        )}
      </Panel>
      <Health />
      <Audit />
    </Screen>
  )
}

type TenantsProps = { readonly list: readonly Tenant[]; readonly onChange: () => Promise<void> }

function Tenants({ list, onChange }: TenantsProps) {
  const [name, setName] = useState('')
  const add = async () => {
    await api('POST', '/api/admin/tenants', { body: { name: name.trim() } })
    setName('')
    await onChange()
  }
  const toggle = async ({ id, status }: Tenant) => {
    await api('PATCH', path`/api/admin/tenants/${id}`, {
      body: { status: status === 'active' ? 'suspended' : 'active' },
    })
    await onChange()
  }
  return (
    <section class="list-of">
      <h2>{t('tenants')}</h2>
      <ul class="list-of">
        {list.map((tenant) => (
          <li key={tenant.id} class="card list-of">
            <div class="row">
              <strong dir="auto">{tenant.name}</strong> <code>{tenant.id}</code>
              <span class={`badge ${tenant.status === 'active' ? 'good' : 'warn'}`}>{tenant.status}</span>
              <span class="grow" />
              {tenant.id !== 'default' && tenant.status !== 'deleting' && (
                <Button onClick={() => toggle(tenant)}>{t(tenant.status === 'active' ? 'suspend' : 'resume')}</Button>
              )}
            </div>
            <TenantLimits tenant={tenant} onChange={onChange} />
          </li>
        ))}
      </ul>
      <Form label={t('newTenant')} action={t('add')} onSend={add}>
        <Field label={t('name')} value={name} onChange={setName} />
      </Form>
    </section>
  )
}

function Keys({ tenants }: { readonly tenants: readonly Tenant[] }) {
  const keys = useLoad(() => get<Page<Key>>('/api/admin/keys?limit=200'), '')
  const [made, setMade] = useState<string | undefined>(undefined)
  const revoke = async ({ id, name }: Key) => {
    const text = name ?? id
    if ((await ask({ title: t('revoke'), text, action: t('revoke'), isDangerous: true })) === undefined) return
    await api('DELETE', path`/api/admin/keys/${id}`)
    await keys.reload()
  }
  const created = async ({ key }: Key) => {
    setMade(key)
    await keys.reload()
  }
  return (
    <section class="list-of">
      <h2>{t('keysTitle')}</h2>
      {made && (
        <p class="card waiting" role="status">
          {t('keyOnce')} <code class="code-once">{made}</code>
        </p>
      )}
      <Panel of={keys}>
        {({ data }) => (
          <ul class="list-of">
            {data.map((key) => (
              <li key={key.id} class="card row">
                <strong dir="auto">{key.name ?? key.id}</strong> <code>{key.tenant_id}</code>
                <span class="note grow">
                  {key.scopes.join(' ')} {key.last_used_at && `· ${formatDate(key.last_used_at)}`}
                </span>
                {key.revoked_at ? (
                  <span class="badge bad">{t('revoked')}</span>
                ) : (
                  <Button onClick={() => revoke(key)}>{t('revoke')}</Button>
                )}
              </li>
            ))}
          </ul>
        )}
      </Panel>
      <NewKey tenants={tenants} onCreated={created} />
    </section>
  )
}

type NewKeyProps = { readonly tenants: readonly Tenant[]; readonly onCreated: (key: Key) => Promise<void> }

function NewKey({ tenants, onCreated }: NewKeyProps) {
  const [tenant, setTenant] = useState('default')
  const [name, setName] = useState('')
  const [chosen, setChosen] = useState<readonly string[]>(['chat', 'read', 'write'])
  const add = async () => {
    const body = { tenant_id: tenant, scopes: chosen, ...(name.trim() && { name: name.trim() }) }
    await onCreated(await api<Key>('POST', '/api/admin/keys', { body }))
  }
  const toggle = (scope: string) =>
    setChosen(chosen.includes(scope) ? chosen.filter((one) => one !== scope) : [...chosen, scope])
  return (
    <Form label={t('newKey')} action={t('add')} onSend={add}>
      <Choice
        label={t('tenant')}
        value={tenant}
        options={tenants.map(({ id }) => [id, id] as const)}
        onChange={setTenant}
      />
      <Field label={t('name')} value={name} onChange={setName} />
      <fieldset class="fieldset row">
        <legend>{t('scopes')}</legend>
        {scopes.map((scope) => (
          <label key={scope} class="check">
            <input type="checkbox" checked={chosen.includes(scope)} onChange={() => toggle(scope)} />
            {scope}
          </label>
        ))}
      </fieldset>
    </Form>
  )
}
