/** The settings as a form that comes from their schema, so that it has every setting of the version that runs. */

import { useEffect, useState } from 'preact/hooks'
import { api, ApiError, get } from '../../api/client.ts'
import { can } from '../../api/me.ts'
import {
  groupFields,
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
import { nameEffort } from '../../words/efforts.ts'
import type { SettingWords } from '../../words/settings-en.ts'
import { loadSettingWords, t } from '../../words/words.ts'
import { loadModels, models } from '../chat/models.ts'
import { PromptLibrary, type Prompts } from './prompts.tsx'
import { Raw } from './raw.tsx'

type Document = { readonly components: { readonly schemas: Schemas } }

async function load() {
  void (models.value ?? loadModels().catch(() => undefined))
  const [document, settings, words] = await Promise.all([
    get<Document>('/openapi.json?schema=Settings'),
    get<object>('/api/settings'),
    loadSettingWords(),
  ])
  const { schemas } = document.components
  return { fields: listFields(schemas['Settings'] ?? {}, schemas), settings, words }
}

export function SettingsScreen() {
  const loaded = useLoad(load, '')
  return (
    <Panel of={loaded}>
      {({ fields, settings, words }) => (
        <Fields
          fields={fields}
          settings={settings}
          words={words}
          onSaved={(saved) => loaded.set({ fields, settings: saved, words })}
        />
      )}
    </Panel>
  )
}

type Props = {
  readonly fields: readonly SettingField[]
  readonly settings: object
  readonly words: SettingWords
  readonly onSaved: (settings: object) => void
}

function Fields({ fields, settings, words, onSaved }: Props) {
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
  const shown = fields.filter((field) => `${field.path} ${textOf(field, words)}`.toLowerCase().includes(wished))
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
      <PromptLibrary prompts={(valueAt(settings, 'prompts') ?? {}) as Prompts} onSaved={onSaved} />
      {!shown.length && <p class="note">{t('nothingFound')}</p>}
      <Groups
        fields={shown}
        settings={settings}
        words={words}
        isOpen={wished !== '' || failed !== null}
        edits={edits}
        failed={failed}
        onChange={(path, text) => setEdits(new Map([...edits, [path, text]]))}
      />
    </Screen>
  )
}

/** The name and the description, in the language of the page. */
const textOf = ({ path, description }: SettingField, { labels, descriptions }: SettingWords): string =>
  `${labels[path] ?? ''} ${descriptions ? (descriptions[path] ?? '') : description}`

type GroupsProps = Pick<Props, 'fields' | 'settings' | 'words'> & {
  readonly isOpen: boolean
  readonly edits: ReadonlyMap<string, string>
  readonly failed: string | null
  readonly onChange: (path: string, text: string) => void
}

const Groups = ({ fields, settings, words, isOpen, edits, failed, onChange }: GroupsProps) => (
  <>
    {groupFields(fields).map(([group, list]) => (
      <details key={`${group} ${isOpen}`} class="fieldset" open={isOpen || group === 'answers'}>
        <summary>{words.groups[group]}</summary>
        {list.map((field) => (
          <Setting
            key={field.path}
            field={field}
            words={words}
            text={edits.get(field.path) ?? showValue(field, valueAt(settings, field.path))}
            isSet={valueAt(settings, field.path) !== undefined}
            isFailed={failed === field.path}
            onChange={(text) => onChange(field.path, text)}
          />
        ))}
      </details>
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
  readonly words: SettingWords
  readonly text: string
  readonly isSet: boolean
  readonly isFailed: boolean
  readonly onChange: (text: string) => void
}

/** A marked field differs from its default. */
const Setting = ({ field, words, text, isSet, isFailed, onChange }: SettingProps) => {
  const description = words.descriptions ? words.descriptions[field.path] : field.description
  return (
    <label class={isSet ? 'changed' : undefined} title={field.path}>
      {words.labels[field.path] ?? field.path}
      <Input field={field} words={words} text={text} isFailed={isFailed} onChange={onChange} />
      {description && <span class="note">{description}</span>}
    </label>
  )
}

/** A value that was set by the API may be none of the common ones. */
const listChoices = ({ choices }: SettingField, value: string): readonly string[] =>
  !value || choices.includes(value) ? choices : [...choices, value]

const modelSettings = new Set(['model.default', 'delegation.model', 'learning.model'])

/** Values of which one is most likely meant. Others may be written, too. */
function listSuggested(path: string): readonly string[] {
  if (path === 'timezone') return Intl.supportedValuesOf('timeZone')
  return modelSettings.has(path) ? (models.value ?? []).map(({ id }) => id) : []
}

const Input = ({ field, words, text, isFailed, onChange }: Omit<SettingProps, 'isSet'>) => {
  const shared = { value: text, 'aria-invalid': isFailed, disabled: !can('write') }
  if (field.kind === 'choice' || field.kind === 'boolean')
    return (
      <select {...shared} onChange={(event) => onChange(event.currentTarget.value)}>
        <option value="">{t('byDefault')}</option>
        {listChoices(field, text).map((choice) => (
          <option key={choice} value={choice}>
            {words.choices[choice] ?? nameEffort(choice)}
          </option>
        ))}
      </select>
    )
  if (field.kind === 'json' || field.kind === 'list')
    return <textarea {...shared} rows={3} onInput={(event) => onChange(event.currentTarget.value)} />
  const write = (event: { readonly currentTarget: HTMLInputElement }) => onChange(event.currentTarget.value)
  if (field.kind === 'number')
    return <input {...shared} type="number" step="any" placeholder={t('byDefault')} onInput={write} />
  const suggested = listSuggested(field.path)
  return (
    <>
      <input
        {...shared}
        dir="auto"
        placeholder={t('byDefault')}
        list={suggested.length ? `known ${field.path}` : undefined}
        onInput={write}
      />
      {suggested.length > 0 && (
        <datalist id={`known ${field.path}`}>
          {suggested.map((one) => (
            <option key={one} value={one} />
          ))}
        </datalist>
      )}
    </>
  )
}
