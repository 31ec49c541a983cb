/** The sessions beside the chat, by day, with a search over titles and texts. */

import { useEffect, useRef, useState } from 'preact/hooks'
import { get, type Page } from '../../api/client.ts'
import { can } from '../../api/me.ts'
import type { Session } from '../../model/types.ts'
import { Button, IconButton } from '../../parts/button.tsx'
import { useLate } from '../../parts/late.ts'
import { loadLateStyle } from '../../parts/late-style.ts'
import { addressOf, place } from '../../parts/route.ts'
import { showError } from '../../parts/toast.ts'
import { formatDay } from '../../words/format.ts'
import { sourceName } from '../../words/source-name.ts'
import { t } from '../../words/words.ts'
import {
  changeSession,
  confirmDelete,
  describeFacets,
  isLoaded,
  loadSessions,
  nextCursor,
  projects,
  query,
  renameSession,
  sessions,
} from './sessions.ts'

type Hit = {
  readonly session_id: string
  readonly title: string | null
  readonly snippet: string
  readonly message_id: string
}
const searchDelayMs = 250

export function SessionList() {
  const [hits, setHits] = useState<readonly Hit[]>([])
  const wasSearched = useRef(false)
  useEffect(() => {
    // The list comes by itself. An empty search brings it back.
    if (!query.value && !wasSearched.current) return
    wasSearched.current = true
    const timer = setTimeout(() => search(setHits).catch(showError), searchDelayMs)
    return () => clearTimeout(timer)
  }, [query.value])
  return (
    <div class="sessions">
      <input
        type="search"
        aria-label={t('search')}
        placeholder={t('search')}
        value={query.value}
        onInput={(event) => void (query.value = event.currentTarget.value)}
      />
      <Projects />
      <Days />
      {nextCursor.value && <Button onClick={() => loadSessions(nextCursor.value ?? undefined)}>{t('more')}</Button>}
      {hits.length > 0 && <Hits hits={hits} />}
      {isLoaded.value && !sessions.value.length && !hits.length && (
        <p class="note">{t(query.value.trim() ? 'nothingFound' : 'noSessions')}</p>
      )}
    </div>
  )
}

async function search(setHits: (hits: readonly Hit[]) => void): Promise<void> {
  const text = query.value.trim()
  if (isLoaded.value) await loadSessions()
  setHits(text.length < 2 ? [] : (await get<Page<Hit>>(`/api/search?q=${encodeURIComponent(text)}`)).data)
}

/** Their sessions stand below them, and not in the days. */
function Projects() {
  const List = useLate(async () => {
    const [part] = await Promise.all([import('../projects/project-list.tsx'), loadLateStyle()])
    return part.ProjectList
  }, isLoaded.value)
  return List && !query.value ? <List /> : null
}

function Days() {
  const ids = new Set(query.value ? [] : projects.value.map(({ id }) => id))
  const pinned = sessions.value.filter((one) => one.pinned)
  const days = Map.groupBy(
    sessions.value.filter((one) => !one.pinned && !one.archived && !ids.has(one.project_id ?? '')),
    ({ updated_at: at }) => formatDay(at),
  )
  const groups = [...(pinned.length ? [[t('pinned'), pinned] as const] : []), ...days]
  return (
    <>
      {groups.map(([day, list]) => (
        <section key={day} aria-label={day}>
          <h2>{day}</h2>
          <ul>
            {list.map((session) => (
              <Entry key={session.id} session={session} />
            ))}
          </ul>
        </section>
      ))}
    </>
  )
}

export function Entry({ session }: { readonly session: Session }) {
  const { id, title, status, source } = session
  const isOpen = place.value.id === id
  return (
    <li class={isOpen ? 'open' : undefined}>
      <a
        data-session={id}
        href={addressOf('chat', id)}
        title={describeFacets(session)}
        aria-current={isOpen ? 'page' : undefined}
      >
        <span class="clip" dir="auto">
          {title ?? t('untitled')}
        </span>
        {source !== 'web' && <span class="badge">{sourceName(source)}</span>}
        {status !== 'idle' && <span class={`state ${status}`} role="img" aria-label={t(status)} />}
      </a>
      {can('write') && <Actions session={session} />}
    </li>
  )
}

const Actions = ({ session }: { readonly session: Session }) => (
  <span class="actions">
    {session.pinned !== undefined && (
      <IconButton
        icon="pin"
        label={t('pin')}
        pressed={session.pinned}
        onClick={() => changeSession(session.id, { pinned: !session.pinned })}
      />
    )}
    <IconButton
      icon="edit"
      label={`${t('rename')}: ${session.title ?? t('untitled')}`}
      onClick={() => renameSession(session)}
    />
    <IconButton
      icon="trash"
      label={`${t('delete')}: ${session.title ?? t('untitled')}`}
      onClick={() => confirmDelete(session)}
    />
  </span>
)

const Hits = ({ hits }: { readonly hits: readonly Hit[] }) => (
  <section aria-label={t('inTexts')}>
    <h2>{t('inTexts')}</h2>
    <ul>
      {hits.map((hit) => (
        <li key={hit.message_id}>
          <a href={addressOf('chat', hit.session_id, hit.message_id.replace('msg_', ''))}>
            <span class="clip" dir="auto">
              {hit.title ?? t('untitled')}
            </span>
            <span class="note clip" dir="auto">
              {hit.snippet}
            </span>
          </a>
        </li>
      ))}
    </ul>
  </section>
)
