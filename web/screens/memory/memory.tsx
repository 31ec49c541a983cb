/** Facts that the agent keeps, the profile of the person, and changes that wait for a decision. */

import { useState } from 'preact/hooks'
import { api, ApiError, get, type Page, path } from '../../api/client.ts'
import { can } from '../../api/me.ts'
import { ask } from '../../parts/dialog.tsx'
import { Button, IconButton } from '../../parts/button.tsx'
import { Panel, Screen, useLoad } from '../../parts/load.tsx'
import { showError } from '../../parts/toast.ts'
import { formatNumber } from '../../words/format.ts'
import { t, wordsOf } from '../../words/words.ts'

type Store = { readonly entries: readonly string[]; readonly chars: number; readonly limit: number }
type Target = 'memory' | 'user'
type Stores = Readonly<Record<Target, Store>>
type Operation = { readonly action: string; readonly old_text?: string; readonly content?: string }
type Waiting = { readonly id: string; readonly target: Target; readonly operations: readonly Operation[] }

export function Memory() {
  const stores = useLoad(() => get<Stores>('/api/memory'), '')
  const change = async (target: Target, operation: Operation) => {
    await api('PATCH', '/api/memory', { body: { target, operations: [operation] } }).catch(inWords)
    await stores.reload()
  }
  return (
    <Screen title={t('memory')}>
      <Pending onDecided={stores.reload} />
      <Panel of={stores}>
        {(data) => (
          <>
            <Entries title={t('memoryOfTenant')} store={data.memory} onChange={(one) => change('memory', one)} />
            <Entries title={t('profile')} store={data.user} onChange={(one) => change('user', one)} />
          </>
        )}
      </Panel>
    </Screen>
  )
}

/** The messages of the API advise a model what to do. */
function inWords(error: unknown): never {
  if (error instanceof ApiError && error.status === 400) throw new Error(say('refused'))
  throw error
}

function requireRoom({ chars, limit }: Store, text: string, replaced = ''): void {
  if (chars + text.length - replaced.length > limit) throw new Error(say('full'))
}

const { say, nameOf } = wordsOf(
  {
    do_add: 'Add',
    do_remove: 'Remove',
    do_replace: 'Replace',
    full: 'There is no room for this. Shorten or delete an entry first.',
    refused: 'This cannot be kept: it is there already, or a part of it looks like an attack.',
  },
  {
    do_add: 'Hinzufügen',
    do_remove: 'Entfernen',
    do_replace: 'Ersetzen',
    full: 'Dafür ist kein Platz. Kürze oder lösche zuerst einen Eintrag.',
    refused: 'Das lässt sich nicht merken: Es ist schon da, oder ein Teil davon sieht nach einem Angriff aus.',
  },
)

type EntriesProps = {
  readonly title: string
  readonly store: Store
  readonly onChange: (operation: Operation) => Promise<void>
}

function Entries({ title, store, onChange }: EntriesProps) {
  const { entries, chars, limit } = store
  const [text, setText] = useState('')
  const edit = async (old: string) => {
    const content = await ask({ title: t('edit'), action: t('save'), field: old })
    if (!content?.trim() || content === old) return
    requireRoom(store, content, old)
    await onChange({ action: 'replace', old_text: old, content })
  }
  const add = async () => {
    requireRoom(store, text.trim())
    await onChange({ action: 'add', content: text.trim() })
    setText('')
  }
  const submit = (event: Event) => {
    event.preventDefault()
    void add().catch(showError)
  }
  const remove = async (entry: string) => {
    if ((await ask({ title: t('delete'), text: entry, action: t('delete'), isDangerous: true })) === undefined) return
    await onChange({ action: 'remove', old_text: entry })
  }
  return (
    <section class="list-of" aria-label={title}>
      <h2>{title}</h2>
      <label class="limit">
        <span class="note">{t('charsOf', { used: formatNumber(chars), all: formatNumber(limit) })}</span>
        <meter min={0} max={limit} value={chars} />
      </label>
      <ul class="list-of">
        {entries.map((entry) => (
          <li key={entry} class="card row">
            <span class="grow pre-line" dir="auto">
              {entry}
            </span>
            {can('write') && <IconButton icon="edit" label={t('edit')} onClick={() => edit(entry)} />}
            {can('write') && <IconButton icon="trash" label={t('delete')} onClick={() => remove(entry)} />}
          </li>
        ))}
      </ul>
      {can('write') && (
        <form class="row" onSubmit={submit}>
          <input
            class="grow"
            dir="auto"
            aria-label={t('newEntry')}
            placeholder={t('newEntry')}
            value={text}
            onInput={(event) => setText(event.currentTarget.value)}
          />
          <button type="submit" class="button" disabled={!text.trim()}>
            {t('add')}
          </button>
        </form>
      )}
    </section>
  )
}

function Pending({ onDecided }: { readonly onDecided: () => Promise<void> }) {
  const waiting = useLoad(() => get<Page<Waiting>>('/api/memory/pending'), '')
  const decide = async (id: string, decision: 'approve' | 'reject') => {
    await api('POST', path`/api/memory/pending/${id}`, { body: { decision } })
    await Promise.all([waiting.reload(), onDecided()])
  }
  return (
    <>
      {waiting.data?.data.map(({ id, operations }) => (
        <section key={id} class="card waiting">
          <h2>{t('memoryWaits')}</h2>
          <ul>
            {operations.map(({ action, content, old_text: old }, at) => (
              <li key={at} dir="auto">
                <span class="badge">{nameOf('do', action)}</span> {old && <del>{old}</del>} {content}
              </li>
            ))}
          </ul>
          <div class="row">
            <Button kind="main" onClick={() => decide(id, 'approve')}>
              {t('accept')}
            </Button>
            <Button kind="danger" onClick={() => decide(id, 'reject')}>
              {t('deny')}
            </Button>
          </div>
        </section>
      ))}
    </>
  )
}
