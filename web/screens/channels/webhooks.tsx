/** Addresses to which other services deliver events, and new ones. */

import { useState } from 'preact/hooks'
import { api, get, type Page, path } from '../../api/client.ts'
import { can } from '../../api/me.ts'
import { Button } from '../../parts/button.tsx'
import { ask } from '../../parts/dialog.tsx'
import { Choice, Field, Form } from '../../parts/form.tsx'
import { Panel, useLoad } from '../../parts/load.tsx'
import { t } from '../../words/words.ts'
import { nameOf, say } from './channel-words.ts'

type Webhook = {
  readonly id: string
  readonly name: string
  readonly status: 'active' | 'paused'
  readonly webhook_url: string
  readonly signature: string
}

const signatures = ['github', 'gitlab', 'standard', 'talaria']

export function Webhooks() {
  const list = useLoad(() => get<Page<Webhook>>('/api/webhooks?limit=100'), '')
  return (
    <section class="list-of">
      <h2>{say('webhooks')}</h2>
      <Panel of={list}>
        {({ data }) => (
          <ul class="list-of">
            {data.map((one) => (
              <Card key={one.id} webhook={one} onChange={list.reload} />
            ))}
            {!data.length && <li class="note">{say('noWebhooks')}</li>}
          </ul>
        )}
      </Panel>
      {can('write') && <NewWebhook onAdded={list.reload} />}
    </section>
  )
}

type CardProps = { readonly webhook: Webhook; readonly onChange: () => Promise<void> }

function Card({ webhook: { id, name, status, webhook_url: address, signature }, onChange }: CardProps) {
  const toggle = async () => {
    await api('POST', `${path`/api/webhooks/${id}`}/${status === 'active' ? 'pause' : 'resume'}`)
    await onChange()
  }
  const remove = async () => {
    if ((await ask({ title: t('delete'), text: name, action: t('delete'), isDangerous: true })) === undefined) return
    await api('DELETE', path`/api/webhooks/${id}`)
    await onChange()
  }
  return (
    <li class="card">
      <p class="row">
        <strong dir="auto">{name}</strong> <span class="badge">{signature}</span>
        <span class={status === 'active' ? 'badge' : 'badge warn'}>{nameOf('channel', status)}</span>
      </p>
      <p>
        {t('webhook')}: <code class="code-once">{address}</code>
      </p>
      {can('write') && (
        <div class="row">
          <Button onClick={toggle}>{t(status === 'active' ? 'pause' : 'resume')}</Button>
          <Button onClick={remove}>{t('delete')}</Button>
        </div>
      )}
    </li>
  )
}

function NewWebhook({ onAdded }: { readonly onAdded: () => Promise<void> }) {
  const [name, setName] = useState('')
  const [signature, setSignature] = useState(signatures[0] ?? '')
  const [secret, setSecret] = useState('')
  const [prompt, setPrompt] = useState('')
  const add = async () => {
    const body = { name: name.trim(), signature, secret, ...(prompt.trim() && { prompt }) }
    await api('POST', '/api/webhooks', { body })
    setName('')
    setSecret('')
    setPrompt('')
    await onAdded()
  }
  return (
    <Form label={say('newWebhook')} action={t('add')} onSend={add}>
      <Field label={t('name')} value={name} onChange={setName} />
      <Choice
        label={say('signature')}
        value={signature}
        options={signatures.map((one) => [one, one] as const)}
        onChange={setSignature}
      />
      <Field label={t('secret')} value={secret} onChange={setSecret} kind="password" />
      <Field label={say('messageTemplate')} value={prompt} onChange={setPrompt} kind="area" />
    </Form>
  )
}
