/** Connections to messaging platforms, and the people who may write. */

import { useState } from 'preact/hooks'
import { api, get, type Page, path } from '../../api/client.ts'
import { can } from '../../api/me.ts'
import { ask } from '../../parts/dialog.tsx'
import { Button } from '../../parts/button.tsx'
import { Choice, Field, Form } from '../../parts/form.tsx'
import { Panel, Screen, useLoad } from '../../parts/load.tsx'
import { sourceName } from '../../words/source-name.ts'
import { t } from '../../words/words.ts'
import { nameOf, say } from './channel-words.ts'
import { Answer, SecretsForm, testChannel } from './check.tsx'
import { type Channel, type Check, type Platform } from './channel.ts'
import { NewChannel } from './new-channel.tsx'
import { WritersForm } from './writers.tsx'
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
              <ChannelCard
                key={channel.id}
                channel={channel}
                platform={catalogue.data?.data.find(({ platform }) => platform === channel.platform)}
                onChange={channels.reload}
              />
            ))}
            {!data.length && <li class="note">{say('noChannels')}</li>}
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

type CardProps = {
  readonly channel: Channel
  readonly platform: Platform | undefined
  readonly onChange: () => Promise<void>
}

function ChannelCard({ channel, platform, onChange }: CardProps) {
  const { id, name, status, webhook_url: address } = channel
  const [check, setCheck] = useState<Check>()
  const [edited, setEdited] = useState<'secrets' | 'writers'>()
  const test = async () => setCheck(await testChannel(id))
  const toggle = async () => {
    await api('POST', `${path`/api/channels/${id}`}/${status === 'active' ? 'pause' : 'resume'}`)
    setCheck(undefined)
    await onChange()
  }
  const remove = async () => {
    if ((await ask({ title: t('delete'), text: name, action: t('delete'), isDangerous: true })) === undefined) return
    await api('DELETE', path`/api/channels/${id}`)
    await onChange()
  }
  const changed = async () => {
    setEdited(undefined)
    await test()
  }
  const edit = (part: 'secrets' | 'writers') => setEdited(edited === part ? undefined : part)
  return (
    <li class="card list-of">
      <p class="row">
        <strong dir="auto">{name}</strong> <span class="badge">{platform?.name ?? channel.platform}</span>
        <StateBadge status={status} check={check} />
      </p>
      <p>
        {t('webhook')}: <code class="code-once">{address}</code>
      </p>
      <Answer of={check} />
      {can('write') && (
        <div class="row">
          <Button onClick={test}>{t('test')}</Button>
          <Button onClick={toggle}>{t(status === 'active' ? 'pause' : 'resume')}</Button>
          {platform && platform.secrets.length > 0 && (
            <Button onClick={() => edit('secrets')}>{say('changeSecrets')}</Button>
          )}
          <Button onClick={() => edit('writers')}>{say('writers')}</Button>
          <Button onClick={remove}>{t('delete')}</Button>
        </div>
      )}
      {edited === 'secrets' && platform && <SecretsForm id={id} of={platform} onSaved={changed} />}
      {edited === 'writers' && (
        <WritersForm
          of={channel}
          onSaved={async () => {
            setEdited(undefined)
            await onChange()
          }}
        />
      )}
    </li>
  )
}

/** Only a check says that a channel works. */
function StateBadge({ status, check }: { readonly status: Channel['status']; readonly check: Check | undefined }) {
  if (status === 'paused') return <span class="badge warn">{say('channel_paused')}</span>
  if (!check) return <span class="badge">{say('notTested')}</span>
  return <span class={`badge ${check.ok ? 'good' : 'bad'}`}>{say(check.ok ? 'works' : 'broken')}</span>
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
      <h2>{say('people')}</h2>
      <Panel of={people}>
        {({ data }) => (
          <ul class="list-of">
            {data.map(({ id, platform: where, name, status }) => (
              <li key={id} class="card row">
                <strong dir="auto">{name || id}</strong> <span class="badge">{sourceName(where)}</span>
                <span class={`badge ${status === 'approved' ? 'good' : 'warn'}`}>
                  {nameOf('person', status === 'approved' ? 'approved' : 'pending')}
                </span>
                <span class="grow" />
                {can('approve') && <Button onClick={() => remove(id)}>{t('remove')}</Button>}
              </li>
            ))}
          </ul>
        )}
      </Panel>
      {can('approve') && (
        <Form label={say('approvePerson')} action={t('approve')} onSend={approve}>
          <Choice
            label={t('platform')}
            value={platform}
            options={platforms.map((one) => [one.platform, one.name] as const)}
            onChange={setPlatform}
          />
          <Field label={say('pairingCode')} value={code} onChange={setCode} />
        </Form>
      )}
    </section>
  )
}
