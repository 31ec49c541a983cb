/** Connects a platform step by step: what to do there, the fields, the test until it works, and the first message. */

import { useEffect, useState } from 'preact/hooks'
import { api, get, type Page } from '../../api/client.ts'
import type { Session } from '../../model/types.ts'
import { Button } from '../../parts/button.tsx'
import { Choice, Field, Form } from '../../parts/form.tsx'
import { t, language } from '../../words/words.ts'
import { nameOf, say } from './channel-words.ts'
import type { Channel, Check, Platform } from './channel.ts'
import { Answer, Secrets, SecretsForm, nameField, testChannel } from './check.tsx'
import { steps } from './guides.ts'
import { readList, WritersField } from './writers.tsx'

type Person = { readonly id: string; readonly platform: string; readonly at: string }
type Added = { readonly channel: Channel; readonly check: Check }

type Props = {
  readonly platforms: readonly Platform[]
  readonly onAdded: () => Promise<void>
  readonly onArrived: () => void
}

export function NewChannel({ platforms, onAdded, onArrived }: Props) {
  const [platform, setPlatform] = useState(platforms[0]?.platform ?? '')
  const [name, setName] = useState('')
  const [writers, setWriters] = useState('')
  const [settings, setSettings] = useState<Readonly<Record<string, string>>>({})
  const [secrets, setSecrets] = useState<Readonly<Record<string, string>>>({})
  const [added, setAdded] = useState<Added | undefined>(undefined)
  const chosen = platforms.find((one) => one.platform === platform)
  const add = async () => {
    const given = Object.fromEntries(Object.entries(secrets).filter(([, value]) => value.trim()))
    const body = {
      platform,
      secrets: given,
      ...(name.trim() && { name: name.trim() }),
      settings: {
        ...(chosen && readSettings(chosen, settings)),
        ...(writers.trim() && { allow_users: readList(writers) }),
      },
    }
    const channel = await api<Channel>('POST', '/api/channels', { body })
    setSecrets({})
    const check = await testChannel(channel.id)
    setAdded({ channel, check })
    await onAdded()
  }
  return (
    <>
      <Form label={say('newChannel')} action={t('add')} onSend={add}>
        <Choice
          label={t('platform')}
          value={platform}
          options={platforms.map((one) => [one.platform, one.name] as const)}
          onChange={(one) => {
            setPlatform(one)
            setSecrets({})
            setSettings({})
            setWriters('')
            setAdded(undefined)
          }}
        />
        {chosen && <Guide of={chosen} />}
        <Field label={t('name')} value={name} onChange={setName} />
        {chosen && <OwnSettings of={chosen} values={settings} onChange={setSettings} />}
        <WritersField value={writers} onChange={setWriters} />
        {chosen && <Secrets of={chosen} values={secrets} onChange={setSecrets} />}
      </Form>
      {added && chosen && (
        <FirstMessage
          key={added.channel.id}
          added={added}
          platform={chosen}
          onCheck={(check) => setAdded({ ...added, check })}
          onArrived={onArrived}
        />
      )}
    </>
  )
}

type OwnProps = {
  readonly of: Platform
  readonly values: Readonly<Record<string, string>>
  readonly onChange: (values: Readonly<Record<string, string>>) => void
}

const OwnSettings = ({ of: { settings, choices }, values, onChange }: OwnProps) =>
  settings.map((name) => {
    const field = {
      label: nameField(name),
      value: values[name] ?? '',
      onChange: (value: string) => onChange({ ...values, [name]: value }),
    }
    const options = (choices[name] ?? []).map((value) => [value, nameOf('choice', value)] as const)
    if (options.length) return <Choice key={name} {...field} options={[['', t('byDefault')], ...options]} />
    return <Field key={name} {...field} raw={name} {...(choices[name] && { hint: say('listHint') })} />
  })

/** The filled fields, as the API takes them. */
const readSettings = ({ settings, choices }: Platform, values: Readonly<Record<string, string>>) =>
  Object.fromEntries(
    settings.flatMap((name) => {
      const text = values[name]?.trim()
      return text ? [[name, readSetting(text, choices[name])]] : []
    }),
  )

function readSetting(text: string, choices: readonly string[] | undefined) {
  if (choices?.includes('true')) return text === 'true'
  return choices?.length === 0 ? readList(text) : text
}

/** The steps at the platform, and its page of the documentation. */
const Guide = ({ of: { platform, name, guide } }: { readonly of: Platform }) => (
  <>
    <ol>
      {(steps[platform]?.[language.value === 'de' ? 'de' : 'en'] ?? []).map((step) => (
        <li key={step}>{step}</li>
      ))}
    </ol>
    <a href={guide} target="_blank" rel="noopener">
      {say('guideOf', { platform: name })}
    </a>
  </>
)

const pollMs = 3_000

/** Platforms cannot reach such an address. */
const isLocal = (url: string): boolean =>
  /^(?:localhost|127\.|10\.|192\.168\.|172\.(?:1[6-9]|2\d|3[01])\.|\[)/.test(new URL(url).host)

type Waiting = {
  readonly added: Added
  readonly platform: Platform
  readonly onCheck: (check: Check) => void
  readonly onArrived: () => void
}

/** Waits for a session or a person of the platform that is newer than the connection, by the clock of the server. */
function FirstMessage({ added: { channel, check }, platform, onCheck, onArrived }: Waiting) {
  const [hasArrived, setArrived] = useState(false)
  const test = async () => onCheck(await testChannel(channel.id))
  useEffect(() => {
    if (hasArrived) return
    const look = async () => {
      if (document.hidden) return
      const { created_at: connectedAt } = channel
      const [sessions, people] = await Promise.all([
        get<Page<Session>>(`/api/sessions?limit=1&source=${platform.platform}`),
        get<Page<Person>>('/api/pairing?limit=20'),
      ])
      const times = [
        ...sessions.data.map((one) => one.updated_at),
        ...people.data.filter((one) => one.platform === platform.platform).map((one) => one.at),
      ]
      if (!times.some((time) => Date.parse(time) >= Date.parse(connectedAt))) return
      setArrived(true)
      onArrived()
    }
    // The next look comes anyway.
    const timer = setInterval(() => void look().catch(() => undefined), pollMs)
    return () => clearInterval(timer)
  }, [hasArrived])
  return (
    <section class="card list-of">
      <Answer of={check} />
      <p>
        {t('webhook')}: <code class="code-once">{channel.webhook_url}</code>
      </p>
      {Object.entries(channel.generated ?? {}).map(([key, value]) => (
        <p key={key}>
          {say('generatedOnce')} {nameField(key)} <code class="code-once">{value}</code>
        </p>
      ))}
      {isLocal(channel.webhook_url) && channel.platform !== 'email' && <p class="failure">{say('localWebhook')}</p>}
      <p role="status">
        <strong>{say(hasArrived ? 'arrived' : check.ok ? 'waitingForMessage' : 'connectionFails')}</strong>
      </p>
      <div class="row">
        <Button onClick={test}>{say('testAgain')}</Button>
      </div>
      {!check.ok && platform.secrets.length > 0 && <SecretsForm id={channel.id} of={platform} onSaved={test} />}
    </section>
  )
}
