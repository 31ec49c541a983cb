/** The trees of a session: its subagents with their state and cost, its forks, and the states of its files before each turn. */

import { useEffect } from 'preact/hooks'
import { get, path } from '../../api/client.ts'
import { Button } from '../../parts/button.tsx'
import { Panel, Screen, useLoad } from '../../parts/load.tsx'
import { addressOf, place } from '../../parts/route.ts'
import { formatCost, formatDate, formatDuration, formatNumber } from '../../words/format.ts'
import { t, wordsOf } from '../../words/words.ts'
import { Changes } from '../files/changes.tsx'

type Subagent = {
  readonly session_id: string
  readonly run_id: string
  readonly goal: string
  readonly role: 'leaf' | 'orchestrator'
  readonly status: string
  readonly activity: string | null
  readonly api_calls: number
  readonly cost_usd: number
  readonly started_at: string | null
  readonly ended_at: string | null
  readonly error: string | null
  readonly children: readonly Subagent[]
}

type Fork = {
  readonly session_id: string
  readonly parent_id: string | null
  readonly title: string | null
  readonly created_at: string
}

const againMs = 5_000
const isOpen = ({ status, children }: Subagent): boolean =>
  status === 'queued' || status === 'running' || children.some(isOpen)

export function SessionTree() {
  const { id } = place.value
  const tree = useLoad(
    () =>
      get<{ readonly children: readonly Subagent[]; readonly branches: readonly Fork[] }>(
        `${path`/api/sessions/${id}`}/tree`,
      ),
    id,
  )
  const forks = tree.data?.branches ?? []
  const isGoing = tree.data?.children.some(isOpen) ?? false
  useEffect(() => {
    if (!isGoing) return undefined
    const timer = setInterval(() => document.hidden || void tree.reload(), againMs)
    return () => clearInterval(timer)
  }, [isGoing])
  return (
    <Screen title={say('title')} actions={<a href={addressOf('chat', id)}>{t('toSession')}</a>}>
      <section class="list-of">
        <div class="row">
          <h2 class="grow">{say('subagents')}</h2>
          <Button onClick={tree.reload}>{t('reload')}</Button>
        </div>
        <Panel of={tree}>
          {({ children }) =>
            children.length ? (
              <ul class="branches">
                {children.map((one) => (
                  <Branch key={one.run_id} of={one} />
                ))}
              </ul>
            ) : (
              <p class="note">{say('none')}</p>
            )
          }
        </Panel>
      </section>
      {forks.length > 1 && (
        <section class="list-of">
          <h2>{say('forks')}</h2>
          <Forks of={forks} here={id ?? ''} />
        </section>
      )}
      <section class="list-of">
        <h2>{say('states')}</h2>
        <Changes session={id} />
      </section>
    </Screen>
  )
}

/** The sessions below a parent. Those whose parent is not listed are roots. */
const Forks = ({
  of: all,
  below,
  here,
}: {
  readonly of: readonly Fork[]
  readonly below?: string
  readonly here: string
}) => {
  const isRoot = ({ parent_id: parent }: Fork) => !all.some(({ session_id }) => session_id === parent)
  const shown = all.filter((one) => (below === undefined ? isRoot(one) : one.parent_id === below))
  if (!shown.length) return null
  return (
    <ul class="branches">
      {shown.map(({ session_id: id, title, created_at: at }) => (
        <li key={id}>
          <p class="card row">
            <a class="grow" dir="auto" href={addressOf('tree', id)} aria-current={id === here ? 'page' : undefined}>
              {title ?? id}
            </a>
            {id === here && <span class="badge good">{say('here')}</span>}
            <span class="note">{formatDate(at)}</span>
          </p>
          <Forks of={all} below={id} here={here} />
        </li>
      ))}
    </ul>
  )
}

const tones: Readonly<Record<string, string>> = { completed: 'good', running: '', queued: '', unknown: 'warn' }

const Branch = ({ of: one }: { readonly of: Subagent }) => (
  <li>
    <div class="card list-of">
      <p class="row">
        <a class="grow" dir="auto" href={addressOf('chat', one.session_id)}>
          {one.goal}
        </a>
        <span class={`badge ${tones[one.status] ?? 'bad'}`}>{nameOf('status', one.status)}</span>
      </p>
      <p class="note">{describe(one)}</p>
      {one.error && (
        <p class="failure" dir="auto">
          {one.error}
        </p>
      )}
    </div>
    {one.children.length > 0 && (
      <ul>
        {one.children.map((child) => (
          <Branch key={child.run_id} of={child} />
        ))}
      </ul>
    )}
  </li>
)

const describe = ({ role, started_at: started, ended_at: ended, api_calls: calls, cost_usd: cost }: Subagent): string =>
  [
    role === 'orchestrator' && say('leads'),
    started && formatDate(started),
    started && ended && formatDuration(Date.parse(ended) - Date.parse(started)),
    say('calls', { count: formatNumber(calls) }),
    formatCost(cost),
  ]
    .filter(Boolean)
    .join(' · ')

const { say, nameOf } = wordsOf(
  {
    calls: 'Model calls: {count}',
    forks: 'Branches',
    here: 'This one',
    leads: 'may ask others',
    none: 'This session has asked no subagents.',
    states: 'States of the files',
    status_completed: 'Completed',
    status_error: 'Failed',
    status_failed: 'Failed',
    status_interrupted: 'Interrupted',
    status_queued: 'Waits',
    status_running: 'Running',
    status_stalled: 'Does not go on',
    status_unknown: 'Not known',
    subagents: 'Subagents',
    title: 'Subagents and states',
  },
  {
    calls: 'Modellaufrufe: {count}',
    forks: 'Zweige',
    here: 'Diese',
    leads: 'darf andere beauftragen',
    none: 'Diese Sitzung hat keine Unteragenten beauftragt.',
    states: 'Stände der Dateien',
    status_completed: 'Fertig',
    status_error: 'Fehlgeschlagen',
    status_failed: 'Fehlgeschlagen',
    status_interrupted: 'Unterbrochen',
    status_queued: 'Wartet',
    status_running: 'Läuft',
    status_stalled: 'Kommt nicht weiter',
    status_unknown: 'Nicht bekannt',
    subagents: 'Unteragenten',
    title: 'Unteragenten und Stände',
  },
)
