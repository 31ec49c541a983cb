/** Rules by which people of an identity provider get access to a tenant. */

import { useState } from 'preact/hooks'
import { api, get, type Page, path } from '../../api/client.ts'
import { Button } from '../../parts/button.tsx'
import { ask } from '../../parts/dialog.tsx'
import { Choice, Field, Form } from '../../parts/form.tsx'
import { Panel, useLoad } from '../../parts/load.tsx'
import { t, wordsOf } from '../../words/words.ts'
import { ScopeChoice } from '../access/scope-choice.tsx'
import { nameScope } from '../access/scopes.tsx'

type Login = {
  readonly id: string
  readonly tenant_id: string
  readonly name: string | null
  readonly issuer: string
  readonly audience: string
  readonly claim: string | null
  readonly value: string | null
  readonly scopes: readonly string[]
  readonly role: string | null
}

export function Logins({ tenants }: { readonly tenants: readonly string[] }) {
  const logins = useLoad(() => get<Page<Login>>('/api/admin/logins?limit=200'), '')
  const remove = async ({ id, name, issuer }: Login) => {
    const text = say('removeText', { name: name || issuer })
    if ((await ask({ title: t('delete'), text, action: t('delete'), isDangerous: true })) === undefined) return
    await api('DELETE', path`/api/admin/logins/${id}`)
    await logins.reload()
  }
  return (
    <section class="list-of" aria-label={say('title')}>
      <h2>{say('title')}</h2>
      <p class="note">{say('about')}</p>
      <Panel of={logins}>
        {({ data }) => (
          <ul class="list-of">
            {data.map((login) => (
              <li key={login.id} class="card row">
                <strong dir="auto">{login.name || login.issuer}</strong> <code>{login.tenant_id}</code>
                <span class="note grow" dir="auto">
                  {[
                    login.name && login.issuer,
                    login.claim ? `${login.claim} = ${login.value}` : say('everyone'),
                    login.role ?? login.scopes.map(nameScope).join(', '),
                  ]
                    .filter(Boolean)
                    .join(' · ')}
                </span>
                <Button label={`${t('delete')}: ${login.name || login.issuer}`} onClick={() => remove(login)}>
                  {t('delete')}
                </Button>
              </li>
            ))}
            {!data.length && <li class="note">{say('none')}</li>}
          </ul>
        )}
      </Panel>
      <NewLogin tenants={tenants} onAdded={logins.reload} />
    </section>
  )
}

const empty = { name: '', issuer: '', audience: '', claim: '', value: '' }

type NewProps = { readonly tenants: readonly string[]; readonly onAdded: () => Promise<void> }

function NewLogin({ tenants, onAdded }: NewProps) {
  const [tenant, setTenant] = useState(tenants[0] ?? '')
  const [fields, setFields] = useState(empty)
  const [scopes, setScopes] = useState<readonly string[]>(['chat', 'read'])
  const set = (name: keyof typeof empty) => (text: string) => setFields({ ...fields, [name]: text })
  const add = async () => {
    const given = Object.entries(fields).filter(([, text]) => text.trim())
    await api('POST', '/api/admin/logins', {
      body: { tenant_id: tenant, scopes, ...Object.fromEntries(given.map(([name, text]) => [name, text.trim()])) },
    })
    setFields(empty)
    await onAdded()
  }
  return (
    <Form label={say('add')} action={t('add')} onSend={add}>
      <Choice
        label={t('tenant')}
        value={tenant}
        options={tenants.map((id) => [id, id] as const)}
        onChange={setTenant}
      />
      <Field label={t('name')} value={fields.name} onChange={set('name')} />
      <Field label={say('issuer')} value={fields.issuer} onChange={set('issuer')} hint={say('issuerHint')} />
      <Field label={say('audience')} value={fields.audience} onChange={set('audience')} hint={say('audienceHint')} />
      <Field label={say('claim')} value={fields.claim} onChange={set('claim')} hint={say('claimHint')} />
      <Field label={say('value')} value={fields.value} onChange={set('value')} />
      <ScopeChoice held={['chat', 'read', 'write', 'jobs', 'approve', 'admin']} chosen={scopes} onChange={setScopes} />
    </Form>
  )
}

const { say } = wordsOf(
  {
    about: 'Tokens of an identity provider, as Cloudflare Access, that act for a tenant.',
    add: 'Add a rule',
    audience: 'Audience',
    audienceHint: 'The claim aud. With Cloudflare Access the tag of the application.',
    claim: 'Claim',
    claimHint: 'As email, sub or groups. Empty: everybody with a token of this issuer and audience.',
    everyone: 'everybody',
    issuer: 'Issuer',
    issuerHint: 'The claim iss, as https://team.cloudflareaccess.com',
    none: 'No rules yet.',
    removeText: 'Delete the rule {name}? What runs by it stops.',
    title: 'Sign-in by identity providers',
    value: 'Value of the claim',
  },
  {
    about: 'Token eines Anmeldedienstes, wie Cloudflare Access, die für einen Mandanten handeln.',
    add: 'Regel hinzufügen',
    audience: 'Zielgruppe',
    audienceHint: 'Die Angabe aud. Bei Cloudflare Access die Kennung der Anwendung.',
    claim: 'Angabe',
    claimHint: 'Wie email, sub oder groups. Leer: jeder mit einem Token dieses Ausstellers für diese Zielgruppe.',
    everyone: 'jeder',
    issuer: 'Aussteller',
    issuerHint: 'Die Angabe iss, wie https://team.cloudflareaccess.com',
    none: 'Noch keine Regeln.',
    removeText: 'Die Regel {name} löschen? Was durch sie läuft, hält an.',
    title: 'Anmeldung über Anmeldedienste',
    value: 'Wert der Angabe',
  },
)
