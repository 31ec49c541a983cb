/** Which models can be used, why others cannot, and the keys of providers. */

import { useState } from 'preact/hooks'
import { api, get, type Page, path } from '../../api/client.ts'
import { can } from '../../api/me.ts'
import type { ModelFacts } from '../../model/model-choice.ts'
import { ask } from '../../parts/dialog.tsx'
import { Button } from '../../parts/button.tsx'
import { Choice, Field, Form } from '../../parts/form.tsx'
import { Panel, Screen, useLoad } from '../../parts/load.tsx'
import { showDone, showError } from '../../parts/toast.ts'
import { formatNumber } from '../../words/format.ts'
import { t } from '../../words/words.ts'
import { nameOf, say } from './model-words.ts'
import { formatPrices, ModelDialog } from './model-dialog.tsx'
import { NewProvider } from './new-provider.tsx'
import { Subscription } from './subscription.tsx'

type Missing = { readonly provider: string; readonly model: string | null; readonly reason: string }
type Models = { readonly data: readonly ModelFacts[]; readonly unavailable: readonly Missing[] }
type Settings = { readonly model?: { readonly default?: string }; readonly fallback_providers?: readonly string[] }
type Credential = {
  readonly id: string
  readonly provider: string
  readonly name: string | null
  readonly last_four: string
  readonly status: 'usable' | 'resting' | 'dead'
  readonly reason: string | null
}

async function load() {
  const [models, settings] = await Promise.all([get<Models>('/api/settings/models'), get<Settings>('/api/settings')])
  return { ...models, chosen: settings.model?.default ?? '', fallbacks: settings.fallback_providers ?? [] }
}

export function Models() {
  const models = useLoad(load, '')
  return (
    <Screen title={say('modelsTitle')}>
      <Panel of={models}>
        {({ data, unavailable, chosen, fallbacks }) => (
          <>
            {!data.some(({ id }) => !id.startsWith('demo/')) && <p>{say('firstRun')}</p>}
            <Credentials models={data} missing={unavailable} onChange={models.reload} />
            <DefaultModel key={chosen} models={data} chosen={chosen} onChange={models.reload} />
            <Fallbacks key={fallbacks.join()} chosen={fallbacks} onChange={models.reload} />
            <Usable models={data} />
            <Unavailable list={unavailable} />
          </>
        )}
      </Panel>
    </Screen>
  )
}

type DefaultProps = {
  readonly models: readonly ModelFacts[]
  readonly chosen: string
  readonly onChange: () => Promise<void>
}

function DefaultModel({ models, chosen, onChange }: DefaultProps) {
  const [isOpen, setOpen] = useState(false)
  const save = async (model: string) => {
    await api('PATCH', '/api/settings', { body: { model: { default: model || null } } })
    showDone(t('saved'))
    await onChange()
  }
  const automatic = say('automaticModel', { model: models[0]?.id ?? '–' })
  return (
    <section class="card row">
      <h2>{t('defaultModel')}</h2>
      <span class="grow clip">{chosen || automatic}</span>
      {can('write') && <Button onClick={() => setOpen(true)}>{say('chooseModel')}</Button>}
      {isOpen && (
        <ModelDialog
          chosen={chosen}
          automatic={models[0]?.id ?? '–'}
          onChoose={(id) => void save(id).catch(showError)}
          onClose={() => setOpen(false)}
        />
      )}
    </section>
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
    <Form label={say('fallbackModels')} action={t('save')} onSend={save}>
      <label>
        {say('fallbackHint')}
        <textarea
          class="short"
          rows={3}
          spellcheck={false}
          readOnly={!can('write')}
          value={text}
          onInput={(event) => setText(event.currentTarget.value)}
        />
      </label>
    </Form>
  )
}

const Usable = ({ models }: { readonly models: readonly ModelFacts[] }) => (
  <section>
    <h2>{say('usable')}</h2>
    <div class="table" tabIndex={0}>
      <table>
        <thead>
          <tr>
            <th>{t('model')}</th>
            <th>{t('window')}</th>
            <th>{say('pricePerMillion')}</th>
          </tr>
        </thead>
        <tbody>
          {models.map(({ id, context_window: size, prices }) => (
            <tr key={id}>
              <td>{id}</td>
              <td>{formatNumber(size)}</td>
              <td>{formatPrices(prices)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  </section>
)

/** Most need only a key, so they share a line. */
function Unavailable({ list }: { readonly list: readonly Missing[] }) {
  const keyless = list.filter(needsKey)
  return (
    <details>
      <summary>{say('notUsable', { count: list.length })}</summary>
      <ul class="list-of">
        {keyless.length > 0 && (
          <li>
            <strong>{say('needKey')}</strong>{' '}
            <span class="note">{[...new Set(keyless.map(({ provider }) => provider))].join(', ')}</span>
          </li>
        )}
        {list
          .filter((one) => !needsKey(one))
          .map(({ provider, model, reason }) => (
            <li key={`${provider}/${model}`}>
              <strong>{model ? `${provider}/${model}` : provider}</strong>{' '}
              <span class="note">{explainMissing(reason)}</span>
            </li>
          ))}
      </ul>
    </details>
  )
}

/** The reasons of the API, in the language of the page. Others stay as they are. */
function explainMissing(reason: string): string {
  const [, variable] = /^set (\w+)$/.exec(reason) ?? []
  const [, binding] = /^needs the (\w+) binding$/.exec(reason) ?? []
  if (variable) return say('setVariable', { name: variable })
  return binding ? say('needsBinding', { name: binding }) : reason
}

const needsKey = ({ reason }: Missing): boolean => reason.includes('/api/credentials')
const providerOf = (model: string): string => model.split('/')[0] ?? ''

type CredentialsProps = {
  readonly models: readonly ModelFacts[]
  readonly missing: readonly Missing[]
  readonly onChange: () => Promise<void>
}

function Credentials({ models, missing, onChange }: CredentialsProps) {
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
      <h2>{say('providerKeys')}</h2>
      <Panel of={list}>
        {({ data }) => (
          <ul class="list-of">
            {data.map((one) => (
              <li key={one.id} class="card row">
                <strong>{one.provider}</strong> <span dir="auto">{one.name}</span> <code>…{one.last_four}</code>
                <span class={`badge ${one.status === 'usable' ? 'good' : 'warn'}`}>{nameOf('key', one.status)}</span>
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
      {can('write') && <NewKey providers={listProviders(models, missing)} onAdded={changed} />}
      {can('write') && <Subscription onAdded={changed} />}
      {can('write') && <NewProvider onAdded={changed} />}
    </section>
  )
}

const isOf =
  (provider: string) =>
  ({ id }: ModelFacts): boolean =>
    id.startsWith(`${provider}/`)

type Tested = { readonly status: string; readonly error?: { readonly message: string } | null }

/** Asks a model of the provider for a word. The conversation is not kept. */
async function testKey(model: string): Promise<void> {
  const body = { model, input: 'Reply with OK.', store: false, max_output_tokens: 16 }
  const { status, error } = await api<Tested>('POST', '/v1/responses', { body })
  if (status === 'failed') throw new Error(say('keyTested', { provider: model, detail: error?.message ?? status }))
  showDone(say('keyWorks', { model }))
}

/** In the order of the API, which begins with the best known. */
const listProviders = (models: readonly ModelFacts[], missing: readonly Missing[]): readonly string[] => [
  ...new Set([...missing.filter(needsKey).map(({ provider }) => provider), ...models.map(({ id }) => providerOf(id))]),
]

type NewKeyProps = { readonly providers: readonly string[]; readonly onAdded: () => Promise<void> }

function NewKey({ providers, onAdded }: NewKeyProps) {
  const [chosen, setChosen] = useState('')
  const [key, setKey] = useState('')
  const names = providers.filter((name) => name !== 'demo')
  const provider = chosen || names[0] || ''
  const add = async () => {
    await api('POST', '/api/credentials', { body: { provider, key: key.trim() } })
    setKey('')
    await onAdded()
    const { data } = await get<Models>('/api/settings/models')
    const model = data.find(isOf(provider))
    // Keys of media and search vendors have no model to ask.
    if (model && can('chat')) await testKey(model.id)
    else showDone(t('saved'))
  }
  return (
    <Form label={t('addKey')} action={say('addAndTest')} onSend={add}>
      <Choice
        label={t('provider')}
        value={provider}
        options={names.map((name) => [name, name] as const)}
        onChange={setChosen}
      />
      <Field label={t('key')} value={key} onChange={setKey} kind="password" hint={t('keyHint')} />
    </Form>
  )
}
