/** Tenants and keys of the deployment, its health, and the audit log. */

import { useState } from 'preact/hooks'
import { api, get, type Page, path } from '../../api/client.ts'
import { Button } from '../../parts/button.tsx'
import { Field, Form } from '../../parts/form.tsx'
import { Panel, Screen, useLoad } from '../../parts/load.tsx'
import { t } from '../../words/words.ts'
import { KeyList } from '../access/key-list.tsx'
import { Audit } from './audit.tsx'
import { Health } from './health.tsx'
import { Logins } from './logins.tsx'
import { RotateKey, TenantLimits, TenantMail } from './tenant-details.tsx'

type Tenant = {
  readonly id: string
  readonly name: string
  readonly status: 'active' | 'suspended' | 'deleting'
  readonly limits: Readonly<Record<string, number>>
  readonly mail: readonly string[]
}

export function Owner() {
  const tenants = useLoad(() => get<Page<Tenant>>('/api/admin/tenants?limit=200'), '')
  return (
    <Screen title={t('owner')}>
      <Panel of={tenants}>
        {({ data }) => (
          <>
            <Tenants list={data} onChange={tenants.reload} />
            <KeyList route="/api/admin/keys" tenants={data.map(({ id }) => id)} />
            <Logins tenants={data.map(({ id }) => id)} />
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
              <span class={`badge ${tenant.status === 'active' ? 'good' : 'warn'}`}>
                {t(`tenant_${tenant.status}`)}
              </span>
              <span class="grow" />
              {tenant.id !== 'default' && tenant.status !== 'deleting' && (
                <Button onClick={() => toggle(tenant)}>{t(tenant.status === 'active' ? 'suspend' : 'resume')}</Button>
              )}
            </div>
            <TenantLimits tenant={tenant} onChange={onChange} />
            <TenantMail tenant={tenant} onChange={onChange} />
            {tenant.status !== 'deleting' && <RotateKey id={tenant.id} />}
          </li>
        ))}
      </ul>
      <Form label={t('newTenant')} action={t('add')} onSend={add}>
        <Field label={t('name')} value={name} onChange={setName} />
      </Form>
    </section>
  )
}
