/** Connections to messaging platforms, and the people who may write. */

import { useState } from 'preact/hooks'
import { api, get, type Page, path } from '../../api/client.ts'
import { can } from '../../api/me.ts'
import { ask } from '../../parts/dialog.tsx'
import { Button } from '../../parts/button.tsx'
import { Choice, Field, Form } from '../../parts/form.tsx'
import { Panel, Screen, useLoad } from '../../parts/load.tsx'
import { showDone, showError } from '../../parts/toast.ts'
import { t } from '../../words/words.ts'
import { type Channel, type Check, NewChannel, type Platform } from './new-channel.tsx'
import { Webhooks } from './webhooks.tsx'

type Person = { readonly id: string; readonly platform: string; readonly name: string; readonly status: string }

export function Channels() {
  const channels = useLoad(() => get<Page<Channel>>('/api/channels'), '')
  const catalogue = useLoad(() => get<{ readonly data: readonly Platform[] }>('/api/channels/platforms'), '')
  const [arrivals, setArrivals] = useState(0)
  return (
    <Screen title={t('channels')}>
      <Panel of={channels}>
        {({ data }) => (
          <ul class="list-of">
            {data.map((channel) => (
              <ChannelCard key={channel.id} channel={channel} onChange={channels.reload} />
            ))}
            {!data.length && <li class="note">{t('noChannels')}</li>}
          </ul>
        )}
      </Panel>
      {can('write') && (
        <Panel of={catalogue}>
          {({ data }) => (
            <NewChannel
              platforms={data}
              onAdded={channels.reload}
              onArrived={() => setArrivals((count) => count + 1)}
            />
          )}
        </Panel>
      )}
      <Webhooks />
      <Panel of={catalogue}>{({ data }) => <People key={arrivals} platforms={data} />}</Panel>
    </Screen>
  )
}

type CardProps = { readonly channel: Channel; readonly onChange: () => Promise<void> }

function ChannelCard({ channel, onChange }: CardProps) {
  const { id, platform, name, status, webhook_url: address } = channel
  const test = async () => {
    const { ok, detail } = await api<Check>('POST', `${path`/api/channels/${id}`}/test`)
    if (ok) showDone(detail)
    else showError(new Error(detail))
  }
  const toggle = async () => {
    await api('POST', `${path`/api/channels/${id}`}/${status === 'active' ? 'pause' : 'resume'}`)
    await onChange()
  }
  const remove = async () => {
    if ((await ask({ title: t('delete'), text: name, action: t('delete'), isDangerous: true })) === undefined) return
    await api('DELETE', path`/api/channels/${id}`)
    await onChange()
  }
  return (
    <li class="card">
      <p class="row">
        <strong dir="auto">{name}</strong> <span class="badge">{platform}</span>
        <span class={`badge ${status === 'active' ? 'good' : 'warn'}`}>{t(`channel_${status}`)}</span>
      </p>
      <p>
        {t('webhook')}: <code class="code-once">{address}</code>
      </p>
      {can('write') && (
        <div class="row">
          <Button onClick={test}>{t('test')}</Button>
          <Button onClick={toggle}>{t(status === 'active' ? 'pause' : 'resume')}</Button>
          <Button onClick={remove}>{t('delete')}</Button>
        </div>
      )}
    </li>
  )
}

function People({ platforms }: { readonly platforms: readonly Platform[] }) {
  const people = useLoad(() => get<Page<Person>>('/api/pairing?limit=200'), '')
  const [platform, setPlatform] = useState(platforms[0]?.platform ?? '')
  const [code, setCode] = useState('')
  const approve = async () => {
    await api('POST', '/api/pairing/approve', { body: { platform, code: code.trim() } })
    setCode('')
    await people.reload()
  }
  const remove = async (id: string) => {
    await api('DELETE', path`/api/pairing/${id}`)
    await people.reload()
  }
  return (
    <section class="list-of">
      <h2>{t('people')}</h2>
      <Panel of={people}>
        {({ data }) => (
          <ul class="list-of">
            {data.map(({ id, platform: where, name, status }) => (
              <li key={id} class="card row">
                <strong dir="auto">{name || id}</strong> <span class="badge">{where}</span>
                <span class={`badge ${status === 'approved' ? 'good' : 'warn'}`}>
                  {t(`person_${status === 'approved' ? 'approved' : 'pending'}`)}
                </span>
                <span class="grow" />
                {can('approve') && <Button onClick={() => remove(id)}>{t('remove')}</Button>}
              </li>
            ))}
          </ul>
        )}
      </Panel>
      {can('approve') && (
        <Form label={t('approvePerson')} action={t('approve')} onSend={approve}>
          <Choice
            label={t('platform')}
            value={platform}
            options={platforms.map((one) => [one.platform, one.name] as const)}
            onChange={setPlatform}
          />
          <Field label={t('pairingCode')} value={code} onChange={setCode} />
        </Form>
      )}
    </section>
  )
}
