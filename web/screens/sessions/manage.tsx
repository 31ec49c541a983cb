/** All sessions: filters by state, source and archive, many at once, export and import. */

import { useEffect, useState } from 'preact/hooks'
import { api, get, type Page, path, send } from '../../api/client.ts'
import { can } from '../../api/me.ts'
import type { Session } from '../../model/types.ts'
import { Button } from '../../parts/button.tsx'
import { ask } from '../../parts/dialog.tsx'
import { download } from '../../parts/download.ts'
import { Choice } from '../../parts/form.tsx'
import { Panel, Screen, useLoad } from '../../parts/load.tsx'
import { showBidi } from '../../markdown/links.ts'
import { addressOf, goTo } from '../../parts/route.ts'
import { showDone, showError } from '../../parts/toast.ts'
import { formatDate } from '../../words/format.ts'
import { sourceName } from '../../words/source-name.ts'
import { t } from '../../words/words.ts'
import { say } from './manage-words.ts'
import { changeSession, editTags, loadSessions, projects, renameSession, sessions } from './sessions.ts'

type Filter = Readonly<Record<'q' | 'source' | 'state' | 'archived' | 'tag' | 'project', string>>
const states = ['idle', 'running', 'waiting'] as const
/** More at once are deleted in several requests. */
const maxIds = 100

const addressFor = ({ q, source, archived, tag, project }: Filter, cursor = ''): string => {
  const parameters = new URLSearchParams({ limit: '100', archived })
  if (q.trim()) parameters.set('q', q.trim())
  if (source) parameters.set('source', source)
  if (tag) parameters.set('tag', tag)
  if (project) parameters.set('project', project)
  if (cursor) parameters.set('cursor', cursor)
  return `/api/sessions?${parameters}`
}

export function Sessions() {
  const [filter, setFilter] = useState<Filter>({
    q: '',
    source: '',
    state: '',
    archived: 'false',
    tag: '',
    project: '',
  })
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set())
  const address = addressFor(filter)
  const list = useLoad(() => get<Page<Session>>(address), address)
  // Changes beside the chat or by a key show here, too.
  useEffect(() => void (list.data && list.reload()), [sessions.value.map(stampOf).join()])
  const more = async (page: Page<Session>) => {
    const next = await get<Page<Session>>(addressFor(filter, page.next_cursor ?? ''))
    list.set({ ...next, data: [...page.data, ...next.data] })
  }
  const changed = async () => {
    setChosen(new Set())
    await Promise.all([loadSessions(), list.reload()])
  }
  return (
    <Screen title={t('sessions')} actions={can('write') && <Import />}>
      <Filters filter={filter} onChange={setFilter} />
      <Panel of={list}>
        {(page) => {
          const shown = page.data.filter(({ status }) => !filter.state || status === filter.state)
          return (
            <>
              {can('write') && (
                <Many
                  shown={shown}
                  chosen={chosen}
                  setChosen={setChosen}
                  isArchive={filter.archived === 'true'}
                  onChange={changed}
                />
              )}
              <ul class="list-of">
                {shown.map((session) => (
                  <Row
                    key={session.id}
                    session={session}
                    chosen={chosen}
                    setChosen={setChosen}
                    onChange={changed}
                    onTag={(tag) => setFilter({ ...filter, tag })}
                  />
                ))}
                {!shown.length && <li class="note">{t('noSessions')}</li>}
              </ul>
              {page.next_cursor && <Button onClick={() => more(page)}>{t('more')}</Button>}
            </>
          )
        }}
      </Panel>
    </Screen>
  )
}

const stampOf = ({ id, title, pinned, archived, status, tags }: Session): string =>
  `${id}${title}${pinned}${archived}${status}${tags}`

type FiltersProps = { readonly filter: Filter; readonly onChange: (filter: Filter) => void }

const sources =
  'web api cli acp telegram discord slack whatsapp line messenger instagram google_chat twilio_whatsapp rcs sms email webhook'.split(
    ' ',
  )

const Filters = ({ filter, onChange }: FiltersProps) => (
  <div class="row filters" role="search">
    <label class="grow">
      {t('search')}
      <input
        type="search"
        value={filter.q}
        onInput={(event) => onChange({ ...filter, q: event.currentTarget.value })}
      />
    </label>
    <Choice
      label={t('state')}
      value={filter.state}
      options={[['', t('all')], ...states.map((one) => [one, t(one)] as const)]}
      onChange={(state) => onChange({ ...filter, state })}
    />
    <Choice
      label={t('by_source')}
      value={filter.source}
      options={[
        ['', t('all')],
        ['!cron', say('chats')],
        ['cron', say('automation')],
        ...sources.map((one) => [one, sourceName(one)] as const),
      ]}
      onChange={(source) => onChange({ ...filter, source })}
    />
    <Choice
      label={say('archiveFilter')}
      value={filter.archived}
      options={[
        ['false', say('notArchived')],
        ['true', t('archived')],
        ['all', t('all')],
      ]}
      onChange={(archived) => onChange({ ...filter, archived })}
    />
    {projects.value.length > 0 && (
      <Choice
        label={t('projects')}
        value={filter.project}
        options={[['', t('all')], ...projects.value.map(({ id, name }) => [id, name] as const)]}
        onChange={(project) => onChange({ ...filter, project })}
      />
    )}
    {filter.tag && (
      <Button
        label={`${t('remove')}: ${say('withTag', { tag: filter.tag })}`}
        onClick={() => onChange({ ...filter, tag: '' })}
      >
        <span class="clip">#{showBidi(filter.tag)}</span> ×
      </Button>
    )}
  </div>
)

type Choosing = {
  readonly chosen: ReadonlySet<string>
  readonly setChosen: (chosen: ReadonlySet<string>) => void
  readonly onChange: () => Promise<void>
}

type ManyProps = Choosing & { readonly shown: readonly Session[]; readonly isArchive: boolean }
type Deleted = { readonly deleted: readonly string[]; readonly failed: readonly string[] }

function Many({ shown, chosen, setChosen, isArchive, onChange }: ManyProps) {
  const ids = shown.map(({ id }) => id).filter((id) => chosen.has(id))
  const isAll = shown.length > 0 && ids.length === shown.length
  const remove = async () => {
    const text = say('deleteMany', { count: ids.length })
    if ((await ask({ title: t('delete'), text, action: t('delete'), isDangerous: true })) === undefined) return
    for (let at = 0; at < ids.length; at += maxIds) {
      const body = { ids: ids.slice(at, at + maxIds) }
      const { failed } = await api<Deleted>('POST', '/api/sessions/delete', { body })
      if (failed.length) showError(new Error(say('notDeleted', { count: failed.length })))
    }
    await onChange()
  }
  const archive = async () => {
    for (const id of ids) await changeSession(id, { archived: !isArchive })
    await onChange()
  }
  return (
    <div class="row" role="group" aria-label={say('chosenOnes')}>
      <label class="check">
        <input
          type="checkbox"
          checked={isAll}
          onChange={() => setChosen(new Set(isAll ? [] : shown.map(({ id }) => id)))}
        />
        {say('chooseAll')}
      </label>
      <span class="note grow">{say('chosenCount', { count: ids.length })}</span>
      <Button onClick={archive} disabled={!ids.length}>
        {t(isArchive ? 'unarchive' : 'archive')}
      </Button>
      <Button kind="danger" onClick={remove} disabled={!ids.length}>
        {t('delete')}
      </Button>
    </div>
  )
}

type RowProps = Choosing & { readonly session: Session; readonly onTag: (tag: string) => void }

function Row({ session, chosen, setChosen, onChange, onTag }: RowProps) {
  const { id, title, source, status, updated_at: at, pinned } = session
  const name = title ?? t('untitled')
  const toggle = () => {
    const next = new Set(chosen)
    if (!next.delete(id)) next.add(id)
    setChosen(next)
  }
  return (
    <li class="card row">
      {can('write') && (
        <input
          type="checkbox"
          aria-label={say('chooseOne', { title: name })}
          checked={chosen.has(id)}
          onChange={toggle}
        />
      )}
      <span class="grow lines">
        <a class="clip" data-session={id} href={addressOf('chat', id)} dir="auto">
          {name}
        </a>
        {session.summary && (
          <span class="note clip" dir="auto">
            {session.summary}
          </span>
        )}
      </span>
      <Facets session={session} onTag={onTag} />
      {pinned && <span class="badge">{t('pinned')}</span>}
      {source !== 'web' && <span class="badge">{sourceName(source)}</span>}
      {status !== 'idle' && <span class="badge warn">{t(status)}</span>}
      <time class="note" dateTime={at}>
        {formatDate(at)}
      </time>
      <span class="row">
        {can('write') && <Changes session={session} onChange={onChange} />}
        <Button label={`${t('export')}: ${name}`} onClick={() => save(session)}>
          {t('export')}
        </Button>
      </span>
    </li>
  )
}

function Changes({ session, onChange }: Pick<RowProps, 'session' | 'onChange'>) {
  const { id, title, pinned, archived } = session
  const name = title ?? t('untitled')
  const change = async (to: object) => {
    await changeSession(id, to)
    await onChange()
  }
  return (
    <>
      <Button label={`${t('rename')}: ${name}`} onClick={() => renameSession(session).then(onChange)}>
        {t('rename')}
      </Button>
      <Button label={`${t('editTags')}: ${name}`} onClick={() => editTags(session).then(onChange)}>
        {t('editTags')}
      </Button>
      <Button label={`${t(pinned ? 'unpin' : 'pin')}: ${name}`} onClick={() => change({ pinned: !pinned })}>
        {t(pinned ? 'unpin' : 'pin')}
      </Button>
      <Button
        label={`${t(archived ? 'unarchive' : 'archive')}: ${name}`}
        onClick={() => change({ archived: !archived })}
      >
        {t(archived ? 'unarchive' : 'archive')}
      </Button>
    </>
  )
}

const Facets = ({ session: { tags = [], message_count: count }, onTag }: Pick<RowProps, 'session' | 'onTag'>) => (
  <>
    {tags.map((tag) => (
      <button key={tag} type="button" class="badge" aria-label={say('withTag', { tag })} onClick={() => onTag(tag)}>
        #{showBidi(tag)}
      </button>
    ))}
    {count > 0 && <span class="note">{t('messageCount', { count })}</span>}
  </>
)

async function save({ id, title }: Session): Promise<void> {
  const response = await send('GET', `${path`/api/sessions/${id}`}/export`)
  download(`${(title ?? id).replaceAll(/[^\p{L}\p{N} _-]/gu, '_')}.json`, await response.blob())
}

function Import() {
  const read = async (file: File | undefined) => {
    if (!file) return
    try {
      const headers = { 'content-type': 'application/json' }
      const response = await send('POST', path`/api/sessions/import`, { body: file, headers })
      const { id } = (await response.json()) as Session
      showDone(say('imported'))
      goTo('chat', id)
      await loadSessions()
    } catch (error) {
      showError(error)
    }
  }
  return (
    <label class="button">
      {say('importSession')}
      <input
        class="unseen"
        type="file"
        accept=".json,.jsonl"
        onChange={(event) => void read(event.currentTarget.files?.[0])}
      />
    </label>
  )
}
