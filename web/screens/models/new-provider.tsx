/** Adds a provider of one's own: its address, its key, and the models that the server lists, with windows and prices. */

import { useState } from 'preact/hooks'
import { api } from '../../api/client.ts'
import type { ModelFacts } from '../../model/model-choice.ts'
import { Button } from '../../parts/button.tsx'
import { Field, Form } from '../../parts/form.tsx'
import { showDone } from '../../parts/toast.ts'
import { t } from '../../words/words.ts'
import { say } from './model-words.ts'
import { describeModel } from './model-dialog.tsx'

type Listed = Pick<ModelFacts, 'id' | 'prices' | 'abilities'> & {
  readonly context_window: number | null
  readonly max_output: number | null
}
type Found = { readonly base_url: string; readonly data: readonly Listed[] }

/** The settings of one model, without what the server does not say. */
const toSettings = ({ context_window: window, max_output: output, prices, abilities: able }: Listed) => ({
  ...(window !== null && { context_window: window }),
  ...(output !== null && { max_output: output }),
  ...(prices && { prices }),
  ...(typeof able['images'] === 'boolean' && { images: able['images'] }),
})

export function NewProvider({ onAdded }: { readonly onAdded: () => Promise<void> }) {
  const [name, setName] = useState('')
  const [address, setAddress] = useState('')
  const [key, setKey] = useState('')
  const [found, setFound] = useState<Found>()
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set())
  const list = async () => {
    const body = { base_url: address.trim(), ...(key.trim() && { key: key.trim() }) }
    const answer = await api<Found>('POST', '/api/settings/models/discover', { body })
    setFound(answer)
    setChosen(new Set(answer.data.slice(0, 1).map(({ id }) => id)))
  }
  const add = async () => {
    const provider = `custom:${name.trim()}`
    const base = found?.base_url ?? address.trim()
    const models = found?.data.filter(({ id }) => chosen.has(id)) ?? []
    const settings = {
      providers: { [provider]: { base_url: base } },
      ...(models.length && {
        models: Object.fromEntries(models.map((one) => [`${provider}/${one.id}`, toSettings(one)])),
      }),
    }
    await api('PATCH', '/api/settings', { body: settings })
    if (key.trim()) await api('POST', '/api/credentials', { body: { provider, key: key.trim() } })
    setFound(undefined)
    for (const clear of [setName, setAddress, setKey]) clear('')
    showDone(t('saved'))
    await onAdded()
  }
  return (
    <details>
      <summary>{say('ownProvider')}</summary>
      <Form label={say('ownProvider')} action={t('add')} onSend={add}>
        <Field label={t('name')} value={name} onChange={setName} hint={say('providerNameHint')} />
        <Field label={t('address')} value={address} onChange={setAddress} hint={say('providerAddressHint')} />
        <Field label={t('key')} value={key} onChange={setKey} kind="password" hint={t('keyHint')} />
        <div class="row">
          <Button onClick={list} disabled={!address.trim()}>
            {say('fetchModels')}
          </Button>
        </div>
        {found && <Choices found={found.data} chosen={chosen} onChange={setChosen} />}
      </Form>
    </details>
  )
}

type ChoicesProps = {
  readonly found: readonly Listed[]
  readonly chosen: ReadonlySet<string>
  readonly onChange: (chosen: ReadonlySet<string>) => void
}

const Choices = ({ found, chosen, onChange }: ChoicesProps) => (
  <fieldset class="fieldset model-list">
    <legend>{say('modelCount', { count: found.length })}</legend>
    {found.map((model) => (
      <label key={model.id} class="check">
        <input
          type="checkbox"
          checked={chosen.has(model.id)}
          onChange={() => {
            const next = new Set(chosen)
            if (!next.delete(model.id)) next.add(model.id)
            onChange(next)
          }}
        />
        <span class="lines">
          <span class="clip" dir="auto">
            {model.id}
          </span>
          <span class="note">{describeModel(model)}</span>
        </span>
      </label>
    ))}
  </fieldset>
)
