/** Facts that the agent keeps with their origin and versions, the profile of the person, forgetting, and changes that wait. */

import { useState } from 'preact/hooks'
import { api, ApiError, get, type Page, path } from '../../api/client.ts'
import { can } from '../../api/me.ts'
import { ask } from '../../parts/dialog.tsx'
import { Button, IconButton } from '../../parts/button.tsx'
import { Panel, Screen, useLoad } from '../../parts/load.tsx'
import { addressOf } from '../../parts/route.ts'
import { showError } from '../../parts/toast.ts'
import { formatDate, formatNumber } from '../../words/format.ts'
import { t, wordsOf } from '../../words/words.ts'
import { Fixes } from './fixes.tsx'

type Store = { readonly entries: readonly string[]; readonly chars: number; readonly limit: number }
type Target = 'memory' | 'user' | 'project'
type Stores = Readonly<Record<'memory' | 'user', Store>> & { readonly project?: Store }
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
            <Entries
              title={t('memoryOfTenant')}
              target="memory"
              store={data.memory}
              onChange={(one) => change('memory', one)}
            />
            <Versions target="memory" of={data.memory} onRestored={stores.reload} />
            <Entries title={t('profile')} target="user" store={data.user} onChange={(one) => change('user', one)} />
            <Versions target="user" of={data.user} onRestored={stores.reload} />
            {can('write') && <Forget onDone={stores.reload} />}
            <Fixes />
          </>
        )}
      </Panel>
    </Screen>
  )
}

/** The facts that the sessions of a project share. Only members see it, and those who change the project change it. */
export function ProjectMemory({ id, isChanged }: { readonly id: string; readonly isChanged: boolean }) {
  const stores = useLoad(() => get<Stores>(`/api/memory${inProject(id, '?')}`), id)
  const change = async (operation: Operation) => {
    const body = { target: 'project', project_id: id, operations: [operation] }
    await api('PATCH', '/api/memory', { body }).catch(inWords)
    await stores.reload()
  }
  return (
    <Panel of={stores}>
      {({ project: store }) =>
        store && (
          <>
            <Entries title={t('memory')} project={id} {...{ target: 'project', store, isChanged }} onChange={change} />
            <Versions target="project" project={id} of={store} isChanged={isChanged} onRestored={stores.reload} />
          </>
        )
      }
    </Panel>
  )
}

const inProject = (id: string | undefined, mark: '?' | '&'): string =>
  id === undefined ? '' : `${mark}project=${encodeURIComponent(id)}`

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
    origin: 'Stored in',
    session: 'this session',
    person: 'by a person',
    foreign: 'may come from outside',
    versions: 'Earlier versions',
    noVersions: 'There are none yet.',
    before: 'before versions were kept',
    restore: 'Restore',
    forget: 'Forget',
    forgetWhat: 'Forget everything with these words',
    forgetNote: 'The text also leaves every earlier version. You see first what goes.',
    nothing: 'Nothing that is kept has these words.',
    earlier: 'in earlier versions and waiting writes',
    outside: 'The memory service keeps what it has: delete it there.',
    do_add: 'Add',
    do_remove: 'Remove',
    do_replace: 'Replace',
    full: 'There is no room for this. Shorten or delete an entry first.',
    refused: 'This cannot be kept: it is there already, or a part of it looks like an attack.',
  },
  {
    origin: 'Gespeichert in',
    session: 'dieser Sitzung',
    person: 'von einem Menschen',
    foreign: 'kann von außen stammen',
    versions: 'Frühere Fassungen',
    noVersions: 'Es gibt noch keine.',
    before: 'aus der Zeit vor den Fassungen',
    restore: 'Wiederherstellen',
    forget: 'Vergessen',
    forgetWhat: 'Alles mit diesen Wörtern vergessen',
    forgetNote: 'Der Text verschwindet auch aus allen früheren Fassungen. Zuerst siehst du, was geht.',
    nothing: 'Nichts Gemerktes hat diese Wörter.',
    earlier: 'in früheren Fassungen und wartenden Änderungen',
    outside: 'Der Gedächtnisdienst behält, was er hat: Lösche es dort.',
    do_add: 'Hinzufügen',
    do_remove: 'Entfernen',
    do_replace: 'Ersetzen',
    full: 'Dafür ist kein Platz. Kürze oder lösche zuerst einen Eintrag.',
    refused: 'Das lässt sich nicht merken: Es ist schon da, oder ein Teil davon sieht nach einem Angriff aus.',
  },
)

type Origin = { readonly at: string | null; readonly by: string | null; readonly session_id: string | null }
type KnownEntry = Origin & { readonly text: string; readonly foreign: boolean }
type Version = Origin & {
  readonly id: number
  readonly added: readonly string[]
  readonly removed: readonly string[]
}

/** The time and the place at which an entry was stored. */
function OriginOf({ entry }: { readonly entry: KnownEntry | undefined }) {
  if (!entry?.at) return null
  const { at, session_id: session, foreign } = entry
  return (
    <small class="note">
      <br />
      {formatDate(at)} ·{' '}
      {session ? (
        <>
          {say('origin')} <a href={addressOf('chat', session)}>{say('session')}</a>
        </>
      ) : (
        say('person')
      )}
      {foreign && ` · ${say('foreign')}`}
    </small>
  )
}

type Place = { readonly target: Target; readonly project?: string; readonly isChanged?: boolean }
type VersionsProps = Place & { readonly of: Store; readonly onRestored: () => Promise<void> }

function Versions({ of, ...others }: VersionsProps) {
  const [isOpen, setOpen] = useState(false)
  return (
    <details onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>{say('versions')}</summary>
      {isOpen && <VersionList key={JSON.stringify(of.entries)} {...others} />}
    </details>
  )
}

function VersionList({ target, project, isChanged = can('write'), onRestored }: Omit<VersionsProps, 'of'>) {
  const address = `/api/memory/versions?target=${target}${inProject(project, '&')}`
  const versions = useLoad(() => get<{ data: readonly Version[] }>(address), '')
  const restore = async (id: number) => {
    await api('POST', path`/api/memory/versions/${String(id)}/restore`).catch(inWords)
    await onRestored()
  }
  return (
    <Panel of={versions}>
      {({ data }) => (
        <ul class="list-of">
          {!data.length && <li class="note">{say('noVersions')}</li>}
          {data.map(({ id, at, added, removed }, index) => (
            <li key={id} class="card">
              <div class="row">
                <span class="grow note">{at ? formatDate(at) : say('before')}</span>
                {index > 0 && isChanged && <Button onClick={() => restore(id)}>{say('restore')}</Button>}
              </div>
              <ul>
                {added.map((text) => (
                  <li key={text} dir="auto">
                    <ins>{text}</ins>
                  </li>
                ))}
                {removed.map((text) => (
                  <li key={text} dir="auto">
                    <del>{text}</del>
                  </li>
                ))}
              </ul>
            </li>
          ))}
        </ul>
      )}
    </Panel>
  )
}

type Forgotten = {
  readonly entries: readonly { readonly target: Target; readonly text: string }[]
  readonly earlier: number
  readonly outside: string | null
}

function Forget({ onDone }: { readonly onDone: () => Promise<void> }) {
  const forget = (words: string, confirm: boolean): Promise<Forgotten> =>
    api<Forgotten>('POST', '/api/memory/forget', { body: { words, confirm } })
  const start = async (words: string) => {
    const { entries, earlier, outside } = await forget(words, false)
    if (!entries.length && !earlier) throw new Error(say('nothing'))
    const lines = entries.map(({ text }) => `– ${text}`)
    const more = earlier ? [`– ${formatNumber(earlier)} ${say('earlier')}`] : []
    const text = [...lines, ...more, ...(outside ? [say('outside')] : [])].join('\n')
    if ((await ask({ title: say('forget'), text, action: say('forget'), isDangerous: true })) === undefined)
      return false
    await forget(words, true)
    await onDone()
    return true
  }
  return (
    <section class="list-of" aria-label={say('forget')}>
      <h2>{say('forget')}</h2>
      <p class="note">{say('forgetNote')}</p>
      <LineForm label={say('forgetWhat')} action={say('forget')} onSend={start} />
    </section>
  )
}

type LineFormProps = {
  readonly label: string
  readonly action: string
  /** Resolves to whether it was done: then the field is emptied. */
  readonly onSend: (text: string) => Promise<boolean>
}

function LineForm({ label, action, onSend }: LineFormProps) {
  const [text, setText] = useState('')
  const submit = (event: Event) => {
    event.preventDefault()
    void onSend(text.trim())
      .then((isDone) => isDone && setText(''))
      .catch(showError)
  }
  return (
    <form class="row" onSubmit={submit}>
      <input
        class="grow"
        dir="auto"
        aria-label={label}
        placeholder={label}
        value={text}
        onInput={(event) => setText(event.currentTarget.value)}
      />
      <button type="submit" class="button" disabled={!text.trim()}>
        {action}
      </button>
    </form>
  )
}

type ButtonsProps = { readonly onEdit: () => Promise<void>; readonly onRemove: () => Promise<void> }

const EntryButtons = ({ onEdit, onRemove }: ButtonsProps) => (
  <>
    <IconButton icon="edit" label={t('edit')} onClick={onEdit} />
    <IconButton icon="trash" label={t('delete')} onClick={onRemove} />
  </>
)

const Room = ({ of: { chars, limit } }: { readonly of: Store }) => (
  <label class="limit">
    <span class="note">{t('charsOf', { used: formatNumber(chars), all: formatNumber(limit) })}</span>
    <meter min={0} max={limit} value={chars} />
  </label>
)

type EntriesProps = Place & {
  readonly title: string
  readonly store: Store
  readonly onChange: (operation: Operation) => Promise<void>
}

function Entries({ title, target, project, isChanged = can('write'), store, onChange }: EntriesProps) {
  const { entries } = store
  const known = useLoad(
    () => get<{ data: readonly KnownEntry[] }>(`/api/memory/entries?target=${target}${inProject(project, '&')}`),
    JSON.stringify(entries),
  )
  const edit = async (old: string) => {
    const content = await ask({ title: t('edit'), action: t('save'), field: old })
    if (!content?.trim() || content === old) return
    requireRoom(store, content, old)
    await onChange({ action: 'replace', old_text: old, content })
  }
  const add = async (text: string) => {
    requireRoom(store, text)
    await onChange({ action: 'add', content: text })
    return true
  }
  const remove = async (entry: string) => {
    if ((await ask({ title: t('delete'), text: entry, action: t('delete'), isDangerous: true })) === undefined) return
    await onChange({ action: 'remove', old_text: entry })
  }
  return (
    <section class="list-of" aria-label={title}>
      <h2>{title}</h2>
      <Room of={store} />
      <ul class="list-of">
        {entries.map((entry) => (
          <li key={entry} class="card row">
            <span class="grow pre-line" dir="auto">
              {entry}
              <OriginOf entry={known.data?.data.find(({ text: of }) => of === entry)} />
            </span>
            {isChanged && <EntryButtons onEdit={() => edit(entry)} onRemove={() => remove(entry)} />}
          </li>
        ))}
      </ul>
      {isChanged && <LineForm label={t('newEntry')} action={t('add')} onSend={add} />}
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
