/** Evaluations: the sessions that `talaria eval` has judged, and the files of results that it writes. */

import { useState } from 'preact/hooks'
import { get, type Page } from '../../api/client.ts'
import { type CaseResult, evalTag, nameOfCase, type Outcome, outcomeOf, readResults } from '../../model/evaluation.ts'
import type { Session } from '../../model/types.ts'
import { Button } from '../../parts/button.tsx'
import { download } from '../../parts/download.ts'
import { Choice } from '../../parts/form.tsx'
import { Panel, Screen, useLoad } from '../../parts/load.tsx'
import { addressOf } from '../../parts/route.ts'
import { showError } from '../../parts/toast.ts'
import { formatCost, formatDate, formatNumber } from '../../words/format.ts'
import { t, wordsOf } from '../../words/words.ts'

const filters = ['all', 'failed', 'passed', 'open'] as const
type Filter = (typeof filters)[number]
const tones: Readonly<Record<Outcome, string>> = { passed: 'good', failed: 'bad', open: '' }

const addressFor = (filter: Filter, cursor = ''): string => {
  const tag = filter === 'passed' || filter === 'failed' ? `${evalTag}-${filter}` : evalTag
  const parameters = new URLSearchParams({ tag, limit: '100', archived: 'all', ...(cursor && { cursor }) })
  return `/api/sessions?${parameters}`
}

export function Evals() {
  const [filter, setFilter] = useState<Filter>('all')
  const list = useLoad(() => get<Page<Session>>(addressFor(filter)), filter)
  const more = async (page: Page<Session>) => {
    const next = await get<Page<Session>>(addressFor(filter, page.next_cursor ?? ''))
    list.set({ ...next, data: [...page.data, ...next.data] })
  }
  return (
    <Screen title={t('evals')} actions={<Button onClick={list.reload}>{t('reload')}</Button>}>
      <p class="note">
        {say('about')} <code>npx talaria eval</code>
      </p>
      <Choice
        label={say('show')}
        value={filter}
        options={filters.map((one) => [one, nameOf('filter', one)] as const)}
        onChange={(value) => setFilter(value as Filter)}
      />
      <Panel of={list}>
        {(page) => {
          const shown = page.data.filter(({ tags }) => filter !== 'open' || outcomeOf(tags) === 'open')
          return (
            <>
              <Sum sessions={shown} />
              <ul class="list-of">
                {shown.map((session) => (
                  <Row key={session.id} session={session} />
                ))}
                {!shown.length && <li class="note">{say('none')}</li>}
              </ul>
              {page.next_cursor && <Button onClick={() => more(page)}>{t('more')}</Button>}
            </>
          )
        }}
      </Panel>
      <ResultsFile />
    </Screen>
  )
}

type ListProps = { readonly sessions: readonly Session[] }

function Sum({ sessions }: ListProps) {
  const passed = sessions.filter(({ tags }) => outcomeOf(tags) === 'passed').length
  const judged = sessions.filter(({ tags }) => outcomeOf(tags) !== 'open').length
  const cost = sessions.reduce((sum, { usage }) => sum + usage.cost_usd, 0)
  const save = () => {
    const rows = sessions.map(({ id, title, tags, model, usage, created_at: at }) => ({
      case: nameOfCase(title),
      outcome: outcomeOf(tags),
      model,
      cost_usd: usage.cost_usd,
      session_id: id,
      created_at: at,
    }))
    download('evaluations.json', new Blob([JSON.stringify(rows, null, 2)], { type: 'application/json' }))
  }
  return (
    <div class="row">
      <p class="grow">
        {say('sum', { passed: formatNumber(passed), judged: formatNumber(judged), cost: formatCost(cost) })}
      </p>
      <Button onClick={save} disabled={!sessions.length}>
        {t('download')}
      </Button>
    </div>
  )
}

const Row = ({ session: { id, title, tags, model, usage, created_at: at } }: { readonly session: Session }) => (
  <li class="card row">
    <a class="grow" dir="auto" href={addressOf('chat', id)}>
      {nameOfCase(title)}
    </a>
    <span class={`badge ${tones[outcomeOf(tags)]}`}>{nameOf('outcome', outcomeOf(tags))}</span>
    {model && <span class="note">{model}</span>}
    <span class="note">{formatCost(usage.cost_usd)}</span>
    <time class="note" dateTime={at}>
      {formatDate(at)}
    </time>
  </li>
)

/** The file has what the sessions do not: which assertions failed, and why. */
function ResultsFile() {
  const [results, setResults] = useState<readonly CaseResult[]>()
  const open = async (file: File | undefined) => {
    if (!file) return
    const read = readResults(await file.text())
    if (read) setResults(read)
    else showError(new Error(say('noResults')))
  }
  return (
    <section class="list-of">
      <h2>{say('file')}</h2>
      <label>
        {say('fileHint')}
        <input type="file" accept=".json" onChange={(event) => void open(event.currentTarget.files?.[0])} />
      </label>
      {results && (
        <ul class="list-of">
          {results.map((result) => (
            <CaseRow key={`${result.name} ${result.model}`} result={result} />
          ))}
        </ul>
      )}
    </section>
  )
}

const CaseRow = ({
  result: { name, model, passed, rate, cost, reasons, sessions },
}: {
  readonly result: CaseResult
}) => (
  <li class="card list-of">
    <p class="row">
      <strong class="grow" dir="auto">
        {name}
      </strong>
      <span class={`badge ${passed ? 'good' : 'bad'}`}>{nameOf('outcome', passed ? 'passed' : 'failed')}</span>
      <span class="note">{Math.round(rate * 100)} %</span>
      {model && <span class="note">{model}</span>}
      {cost !== undefined && <span class="note">{formatCost(cost)}</span>}
    </p>
    {reasons.length > 0 && (
      <ul dir="auto">
        {reasons.map((reason) => (
          <li key={reason}>{reason}</li>
        ))}
      </ul>
    )}
    {sessions.length > 0 && (
      <p class="row">
        {sessions.map((id, at) => (
          <a key={id} href={addressOf('chat', id)}>
            {say('run', { n: at + 1 })}
          </a>
        ))}
      </p>
    )}
  </li>
)

const { say, nameOf } = wordsOf(
  {
    about: 'Whether the agent still does its work: the cases that this command has run here.',
    file: 'A file of results',
    fileHint: 'As --reporter json or --record writes it. It stays in this browser.',
    filter_all: 'All',
    filter_failed: 'Failed',
    filter_open: 'Not judged',
    filter_passed: 'Passed',
    noResults: 'This file has no results of an evaluation.',
    none: 'No evaluations yet.',
    outcome_failed: 'Failed',
    outcome_open: 'Not judged',
    outcome_passed: 'Passed',
    run: 'Run {n}',
    show: 'Show',
    sum: '{passed} of {judged} passed · {cost}',
  },
  {
    about: 'Ob der Agent seine Arbeit noch kann: die Fälle, die dieser Befehl hier ausgeführt hat.',
    file: 'Datei mit Ergebnissen',
    fileHint: 'Wie --reporter json oder --record sie schreibt. Sie bleibt in diesem Browser.',
    filter_all: 'Alle',
    filter_failed: 'Gescheiterte',
    filter_open: 'Nicht bewertete',
    filter_passed: 'Bestandene',
    noResults: 'Diese Datei hat keine Ergebnisse einer Bewertung.',
    none: 'Noch keine Bewertungen.',
    outcome_failed: 'Gescheitert',
    outcome_open: 'Nicht bewertet',
    outcome_passed: 'Bestanden',
    run: 'Lauf {n}',
    show: 'Zeigen',
    sum: '{passed} von {judged} bestanden · {cost}',
  },
)
