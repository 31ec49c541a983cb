/** Which models can be used, why others cannot, and the keys of providers. */

import { useState } from 'preact/hooks'
import { api, get, type Page, path } from '../../api/client.ts'
import { can } from '../../api/me.ts'
import { ask } from '../../parts/dialog.tsx'
import { Button } from '../../parts/button.tsx'
import { Choice, Field, Form } from '../../parts/form.tsx'
import { Panel, Screen, useLoad } from '../../parts/load.tsx'
import { showDone } from '../../parts/toast.ts'
import { formatCost, formatNumber } from '../../words/format.ts'
import { t } from '../../words/words.ts'

type Model = {
  readonly id: string
  readonly context_window: number
  readonly prices: { readonly input: number; readonly output: number } | null
}
type Missing = { readonly provider: string; readonly model: string | null; readonly reason: string }
type Models = { readonly data: readonly Model[]; readonly unavailable: readonly Missing[] }
type Settings = { readonly model?: { readonly default?: string }; readonly fallback_providers?: readonly string[] }
type Credential = {
  readonly id: string
  readonly provider: string
  readonly name: string | null
  readonly last_four: string
  readonly status: string
  readonly reason: string | null
}

async function load() {
  const [models, settings] = await Promise.all([get<Models>('/api/settings/models'), get<Settings>('/api/settings')])
  return { ...models, chosen: settings.model?.default ?? '', fallbacks: settings.fallback_providers ?? [] }
}

export function Models() {
  const models = useLoad(load, '')
  return (
    <Screen title={t('modelsTitle')}>
      <Panel of={models}>
        {({ data, unavailable, chosen, fallbacks }) => (
          <>
            {!data.some(({ id }) => !id.startsWith('demo/')) && <p class="note">{t('firstRun')}</p>}
            <DefaultModel models={data} chosen={chosen} onChange={models.reload} />
            <Fallbacks key={fallbacks.join()} chosen={fallbacks} onChange={models.reload} />
            <Usable models={data} />
            <Credentials models={data} onChange={models.reload} />
            <Unavailable list={unavailable} />
          </>
        )}
      </Panel>
    </Screen>
  )
}

type DefaultProps = {
  readonly models: readonly Model[]
  readonly chosen: string
  readonly onChange: () => Promise<void>
}

function DefaultModel({ models, chosen, onChange }: DefaultProps) {
  const choose = async (id: string) => {
    await api('PATCH', '/api/settings', { body: { model: { default: id || null } } })
    showDone(t('saved'))
    await onChange()
  }
  const names = [...new Set([...(chosen ? [chosen] : []), ...models.map(({ id }) => id)])]
  return (
    <Choice
      label={t('defaultModel')}
      value={chosen}
      options={[['', t('automatic')], ...names.map((id) => [id, id] as const)]}
      onChange={(id) => void choose(id)}
    />
  )
}

type FallbackProps = { readonly chosen: readonly string[]; readonly onChange: () => Promise<void> }

function Fallbacks({ chosen, onChange }: FallbackProps) {
  const [text, setText] = useState(chosen.join('\n'))
  const save = async () => {
    const list = text
      .split('\n')
      .map((line) => line.trim())
      .filter(Boolean)
    await api('PATCH', '/api/settings', { body: { fallback_providers: list.length ? list : null } })
    showDone(t('saved'))
    await onChange()
  }
  return (
    <label>
      {t('fallbackModels')}
      <textarea
        rows={3}
        spellcheck={false}
        readOnly={!can('write')}
        value={text}
        onInput={(event) => setText(event.currentTarget.value)}
      />
      {can('write') && (
        <Button onClick={save} disabled={text === chosen.join('\n')} label={`${t('save')}: ${t('fallbackModels')}`}>
          {t('save')}
        </Button>
      )}
    </label>
  )
}

const Usable = ({ models }: { readonly models: readonly Model[] }) => (
  <section>
    <h2>{t('usable')}</h2>
    <div class="table" tabIndex={0}>
      <table>
        <thead>
          <tr>
            <th>{t('model')}</th>
            <th>{t('window')}</th>
            <th>{t('pricePerMillion')}</th>
          </tr>
        </thead>
        <tbody>
          {models.map(({ id, context_window: size, prices }) => (
            <tr key={id}>
              <td>{id}</td>
              <td>{formatNumber(size)}</td>
              <td>{prices ? `${formatCost(prices.input)} / ${formatCost(prices.output)}` : '–'}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  </section>
)

const Unavailable = ({ list }: { readonly list: readonly Missing[] }) => (
  <details>
    <summary>{t('notUsable', { count: list.length })}</summary>
    <ul class="list-of">
      {list.map(({ provider, model, reason }) => (
        <li key={`${provider}/${model}`}>
          <strong>{model ? `${provider}/${model}` : provider}</strong> <span class="note">{reason}</span>
        </li>
      ))}
    </ul>
  </details>
)

type CredentialsProps = { readonly models: readonly Model[]; readonly onChange: () => Promise<void> }

function Credentials({ models, onChange }: CredentialsProps) {
  const list = useLoad(() => get<Page<Credential>>('/api/credentials'), '')
  const changed = async () => void (await Promise.all([list.reload(), onChange()]))
  const remove = async ({ id, provider, last_four: end }: Credential) => {
    const text = `${provider} …${end}`
    if ((await ask({ title: t('delete'), text, action: t('delete'), isDangerous: true })) === undefined) return
    await api('DELETE', path`/api/credentials/${id}`)
    await changed()
  }
  return (
    <section class="list-of">
      <h2>{t('providerKeys')}</h2>
      <Panel of={list}>
        {({ data }) => (
          <ul class="list-of">
            {data.map((one) => (
              <li key={one.id} class="card row">
                <strong>{one.provider}</strong> {one.name} <code>…{one.last_four}</code>
                <span class={`badge ${one.status === 'usable' ? 'good' : 'warn'}`}>{one.status}</span>
                <span class="note grow">{one.reason}</span>
                {can('chat') && models.some(isOf(one.provider)) && (
                  <Button onClick={() => testKey(models.find(isOf(one.provider))?.id ?? '').finally(list.reload)}>
                    {t('test')}
                  </Button>
                )}
                {can('write') && <Button onClick={() => remove(one)}>{t('delete')}</Button>}
              </li>
            ))}
          </ul>
        )}
      </Panel>
      {can('write') && <NewKey onAdded={changed} />}
    </section>
  )
}

const isOf =
  (provider: string) =>
  ({ id }: Model): boolean =>
    id.startsWith(`${provider}/`)

type Tested = { readonly status: string; readonly error?: { readonly message: string } | null }

/** Asks a model of the provider for a word. The conversation is not kept. */
async function testKey(model: string): Promise<void> {
  const body = { model, input: 'Reply with OK.', store: false, max_output_tokens: 16 }
  const { status, error } = await api<Tested>('POST', '/v1/responses', { body })
  if (status === 'failed') throw new Error(t('keyTested', { provider: model, detail: error?.message ?? status }))
  showDone(t('keyWorks', { model }))
}

function NewKey({ onAdded }: { readonly onAdded: () => Promise<void> }) {
  const [provider, setProvider] = useState('')
  const [key, setKey] = useState('')
  const add = async () => {
    await api('POST', '/api/credentials', { body: { provider: provider.trim(), key: key.trim() } })
    setKey('')
    await onAdded()
  }
  return (
    <Form label={t('addKey')} action={t('add')} onSend={add}>
      <Field label={t('provider')} value={provider} onChange={setProvider} hint="openai, anthropic, openrouter …" />
      <Field label={t('key')} value={key} onChange={setKey} kind="password" />
    </Form>
  )
}
