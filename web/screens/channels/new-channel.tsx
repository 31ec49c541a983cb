/** Connects a platform step by step: what to do there, the fields, the test, and the first message. */

import { useEffect, useState } from 'preact/hooks'
import { api, get, type Page, path } from '../../api/client.ts'
import type { Session } from '../../model/types.ts'
import { Choice, Field, Form } from '../../parts/form.tsx'
import { germanHints } from '../../words/hints-de.ts'
import { t, language } from '../../words/words.ts'
import { steps } from './guides.ts'

export type Platform = {
  readonly platform: string
  readonly name: string
  readonly secrets: readonly {
    readonly name: string
    readonly required: boolean
    readonly hint: string
    readonly delivery?: string
  }[]
  readonly settings: readonly string[]
  readonly guide: string
}
export type Channel = {
  readonly id: string
  readonly platform: string
  readonly name: string
  readonly status: 'active' | 'paused'
  readonly webhook_url: string
  readonly created_at: string
  readonly generated?: Readonly<Record<string, string>>
  readonly registration?: Check
}
export type Check = { readonly ok: boolean; readonly detail: string }
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
  const [settings, setSettings] = useState<Readonly<Record<string, string>>>({})
  const [secrets, setSecrets] = useState<Readonly<Record<string, string>>>({})
  const [added, setAdded] = useState<Added | undefined>(undefined)
  const chosen = platforms.find((one) => one.platform === platform)
  const own = chosen?.settings ?? []
  const add = async () => {
    const given = Object.fromEntries(Object.entries(secrets).filter(([, value]) => value.trim()))
    const body = {
      platform,
      secrets: given,
      ...(name.trim() && { name: name.trim() }),
      settings: Object.fromEntries(own.flatMap((one) => (settings[one]?.trim() ? [[one, settings[one].trim()]] : []))),
    }
    const channel = await api<Channel>('POST', '/api/channels', { body })
    setSecrets({})
    const check = await api<Check>('POST', `${path`/api/channels/${channel.id}`}/test`)
    setAdded({ channel, check })
    await onAdded()
  }
  return (
    <>
      <Form label={t('newChannel')} action={t('add')} onSend={add}>
        <Choice
          label={t('platform')}
          value={platform}
          options={platforms.map((one) => [one.platform, one.name] as const)}
          onChange={(one) => {
            setPlatform(one)
            setSecrets({})
            setSettings({})
            setAdded(undefined)
          }}
        />
        {chosen && <Guide of={chosen} />}
        <Field label={t('name')} value={name} onChange={setName} />
        {own.map((field) => (
          <Field
            key={field}
            label={field === 'address' ? t('addressOfAgent') : field}
            value={settings[field] ?? ''}
            onChange={(value) => setSettings({ ...settings, [field]: value })}
          />
        ))}
        {chosen && <Secrets of={chosen} values={secrets} onChange={setSecrets} />}
      </Form>
      {added && <FirstMessage key={added.channel.id} added={added} onArrived={onArrived} />}
    </>
  )
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
      {t('guideOf', { platform: name })}
    </a>
  </>
)

type SecretsProps = {
  readonly of: Platform
  readonly values: Readonly<Record<string, string>>
  readonly onChange: (values: Readonly<Record<string, string>>) => void
}

const Secrets = ({ of: { secrets }, values, onChange }: SecretsProps) =>
  secrets.map(({ name, required, hint, delivery }) => (
    <Field
      key={name}
      label={name}
      kind="password"
      hint={required || delivery !== undefined ? translateHint(hint) : t('generatedIfEmpty')}
      value={values[name] ?? ''}
      onChange={(value) => onChange({ ...values, [name]: value })}
    />
  ))

const pollMs = 3_000

/** Platforms cannot reach such an address. */
const isLocal = (url: string): boolean =>
  /^(?:localhost|127\.|10\.|192\.168\.|172\.(?:1[6-9]|2\d|3[01])\.|\[)/.test(new URL(url).host)

type Waiting = { readonly added: Added; readonly onArrived: () => void }

/** Waits for a session or a person of the platform that is newer than the connection, by the clock of the server. */
function FirstMessage({ added: { channel, check }, onArrived }: Waiting) {
  const [hasArrived, setArrived] = useState(false)
  useEffect(() => {
    if (hasArrived) return
    const look = async () => {
      if (document.hidden) return
      const { platform, created_at: connectedAt } = channel
      const [sessions, people] = await Promise.all([
        get<Page<Session>>(`/api/sessions?limit=1&source=${platform}`),
        get<Page<Person>>('/api/pairing?limit=20'),
      ])
      const times = [
        ...sessions.data.map((one) => one.updated_at),
        ...people.data.filter((one) => one.platform === platform).map((one) => one.at),
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
    <section class="card list-of" role="status">
      <p class={check.ok ? undefined : 'failure'}>{check.detail}</p>
      <p>
        {t('webhook')}: <code class="code-once">{channel.webhook_url}</code>
      </p>
      {Object.entries(channel.generated ?? {}).map(([key, value]) => (
        <p key={key}>
          {t('generatedOnce')} {key} <code class="code-once">{value}</code>
        </p>
      ))}
      {isLocal(channel.webhook_url) && channel.platform !== 'email' && <p class="failure">{t('localWebhook')}</p>}
      <p>
        <strong>{t(hasArrived ? 'arrived' : check.ok ? 'waitingForMessage' : 'connectionFails')}</strong>
      </p>
    </section>
  )
}

/** The API says it in English. */
const translateHint = (hint: string): string => (language.value === 'de' ? (germanHints[hint] ?? hint) : hint)
