/** The settings as a form that comes from their schema, so that it has every setting of the version that runs. */

import { useEffect, useState } from 'preact/hooks'
import { api, ApiError, get } from '../../api/client.ts'
import { can } from '../../api/me.ts'
import {
  listFields,
  readValue,
  type Schemas,
  type SettingField,
  showValue,
  toPatch,
  valueAt,
} from '../../model/settings-form.ts'
import { Button } from '../../parts/button.tsx'
import { Panel, Screen, useLoad } from '../../parts/load.tsx'
import { explain, showDone } from '../../parts/toast.ts'
import { t } from '../../words/words.ts'
import { Raw } from './raw.tsx'

type Document = { readonly components: { readonly schemas: Schemas } }

async function load() {
  const [document, settings] = await Promise.all([get<Document>('/openapi.json'), get<object>('/api/settings')])
  const { schemas } = document.components
  return { fields: listFields(schemas['Settings'] ?? {}, schemas), settings }
}

export function SettingsScreen() {
  const loaded = useLoad(load, '')
  return (
    <Panel of={loaded}>
      {({ fields, settings }) => (
        <Fields fields={fields} settings={settings} onSaved={(saved) => loaded.set({ fields, settings: saved })} />
      )}
    </Panel>
  )
}

type Props = {
  readonly fields: readonly SettingField[]
  readonly settings: object
  readonly onSaved: (settings: object) => void
}

function Fields({ fields, settings, onSaved }: Props) {
  const [edits, setEdits] = useState<ReadonlyMap<string, string>>(new Map())
  const [search, setSearch] = useState('')
  const [error, setError] = useState<unknown>(undefined)
  const save = async () => {
    setError(undefined)
    try {
      const changes = new Map([...edits].map(([path, text]) => [path, readValue(fieldOf(fields, path), text)] as const))
      onSaved(await api<object>('PATCH', '/api/settings', { body: toPatch(changes) }))
      setEdits(new Map())
      showDone(t('saved'))
    } catch (failure) {
      setError(failure)
    }
  }
  useEffect(() => onSaveKey(save))
  const wished = search.toLowerCase()
  const shown = fields.filter(({ path, description }) => `${path} ${description}`.toLowerCase().includes(wished))
  const failed = error instanceof ApiError ? error.param : null
  const actions = can('write') && (
    <Button kind="main" onClick={save} disabled={!edits.size}>
      {edits.size ? t('saveCount', { count: edits.size }) : t('save')}
    </Button>
  )
  return (
    <Screen title={t('settings')} actions={actions}>
      <input
        type="search"
        aria-label={t('search')}
        placeholder={t('search')}
        value={search}
        onInput={(event) => setSearch(event.currentTarget.value)}
      />
      {error !== undefined && (
        <p class="failure" role="alert">
          {explain(error)}
        </p>
      )}
      <details>
        <summary>{t('raw')}</summary>
        <Raw key={JSON.stringify(settings)} settings={settings} onSaved={onSaved} />
      </details>
      {!shown.length && <p class="note">{t('nothingFound')}</p>}
      <Groups
        fields={shown}
        settings={settings}
        edits={edits}
        failed={failed}
        onChange={(path, text) => setEdits(new Map([...edits, [path, text]]))}
      />
    </Screen>
  )
}

type GroupsProps = Pick<Props, 'fields' | 'settings'> & {
  readonly edits: ReadonlyMap<string, string>
  readonly failed: string | null
  readonly onChange: (path: string, text: string) => void
}

/** One group for each first name of the paths. */
const Groups = ({ fields, settings, edits, failed, onChange }: GroupsProps) => (
  <>
    {[...Map.groupBy(fields, ({ path }) => path.split('.')[0] ?? '')].map(([group, list]) => (
      <fieldset key={group} class="fieldset">
        <legend>{group}</legend>
        {list.map((field) => (
          <Setting
            key={field.path}
            field={field}
            text={edits.get(field.path) ?? showValue(field, valueAt(settings, field.path))}
            isSet={valueAt(settings, field.path) !== undefined}
            isFailed={failed === field.path}
            onChange={(text) => onChange(field.path, text)}
          />
        ))}
      </fieldset>
    ))}
  </>
)

const fieldOf = (fields: readonly SettingField[], path: string): SettingField => {
  const found = fields.find((field) => field.path === path)
  if (!found) throw new Error(path)
  return found
}

function onSaveKey(save: () => Promise<void>): () => void {
  const onKey = (event: KeyboardEvent) => {
    if (event.key !== 's' || !(event.ctrlKey || event.metaKey)) return
    event.preventDefault()
    void save()
  }
  addEventListener('keydown', onKey)
  return () => removeEventListener('keydown', onKey)
}

type SettingProps = {
  readonly field: SettingField
  readonly text: string
  readonly isSet: boolean
  readonly isFailed: boolean
  readonly onChange: (text: string) => void
}

/** A marked field differs from its default. */
const Setting = ({ field, text, isSet, isFailed, onChange }: SettingProps) => (
  <label class={isSet ? 'changed' : undefined}>
    <code>{field.path}</code>
    <Input field={field} text={text} isFailed={isFailed} onChange={onChange} />
    {field.description && <span class="note">{field.description}</span>}
  </label>
)

const Input = ({ field, text, isFailed, onChange }: Omit<SettingProps, 'isSet'>) => {
  const shared = { value: text, 'aria-invalid': isFailed, disabled: !can('write') }
  if (field.kind === 'choice' || field.kind === 'boolean')
    return (
      <select {...shared} onChange={(event) => onChange(event.currentTarget.value)}>
        <option value="">{t('byDefault')}</option>
        {field.choices.map((choice) => (
          <option key={choice} value={choice}>
            {choice}
          </option>
        ))}
      </select>
    )
  if (field.kind === 'json')
    return <textarea {...shared} rows={3} onInput={(event) => onChange(event.currentTarget.value)} />
  const write = (event: { readonly currentTarget: HTMLInputElement }) => onChange(event.currentTarget.value)
  if (field.kind === 'number')
    return <input {...shared} type="number" step="any" placeholder={t('byDefault')} onInput={write} />
  return <input {...shared} dir="auto" placeholder={t('byDefault')} onInput={write} />
}
