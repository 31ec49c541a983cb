/** One batch: its progress and cost, the answers, and what can be done with it. */

import { useEffect, useState } from 'preact/hooks'
import { api, get, send } from '../../api/client.ts'
import { Button } from '../../parts/button.tsx'
import { ask } from '../../parts/dialog.tsx'
import { download } from '../../parts/download.ts'
import { Choice } from '../../parts/form.tsx'
import { Panel, Screen, useLoad } from '../../parts/load.tsx'
import { addressOf, goTo } from '../../parts/route.ts'
import { formatCost, formatDate, formatNumber } from '../../words/format.ts'
import { t } from '../../words/words.ts'
import { addressOfBatch, againOf, type Batch, isGoing, readResults, type Result } from './batch.ts'
import { Progress, Status, useProgress } from './batch-progress.tsx'
import { nameOf, say } from './batch-words.ts'

type Props = { readonly id: string }
type BatchProps = { readonly batch: Batch; readonly onChange: () => Promise<void> }

export function BatchDetails({ id }: Props) {
  const loaded = useLoad(() => get<Batch>(addressOfBatch(id)), id)
  useProgress(loaded, loaded.data ? isGoing(loaded.data) : false)
  return (
    <Screen title={loaded.data?.name ?? t('batches')} actions={<a href={addressOf('batches')}>{t('batches')}</a>}>
      <Panel of={loaded}>
        {(batch) => (
          <>
            <section class="card list-of" aria-label={say('progress')}>
              <p class="row">
                <Status batch={batch} />
                <time class="note grow" dateTime={batch.created_at}>
                  {formatDate(batch.created_at)}
                </time>
              </p>
              <Progress batch={batch} />
              {batch.held_usd > 0 && <p class="note">{say('held', { usd: formatCost(batch.held_usd) })}</p>}
              <Actions batch={batch} onChange={loaded.reload} />
            </section>
            <Results batch={batch} />
            <Downloads batch={batch} />
          </>
        )}
      </Panel>
    </Screen>
  )
}

function Actions({ batch, onChange }: BatchProps) {
  const { id, name, counts, budget_usd: budget } = batch
  const again = againOf(counts)
  const cancel = async () => {
    await api('POST', `${addressOfBatch(id)}/cancel`, { body: {} })
    await onChange()
  }
  const retry = async () => {
    const asked = { title: say('retry'), text: say('retryText', { count: again }), action: say('retry') }
    // A batch without a budget goes on without one.
    const answer = await ask(budget === null ? asked : { ...asked, field: String(budget) })
    if (answer === undefined) return
    const larger = Number(answer.replace(',', '.'))
    await api('POST', `${addressOfBatch(id)}/retry`, { body: budget === null ? {} : { budget_usd: larger } })
    await onChange()
  }
  const remove = async () => {
    const asked = { title: t('delete'), text: say('removeText', { name }), action: t('delete'), isDangerous: true }
    if ((await ask(asked)) === undefined) return
    await api('DELETE', addressOfBatch(id))
    goTo('batches')
  }
  return (
    <div class="row">
      {isGoing(batch) && <Button onClick={cancel}>{say('cancel')}</Button>}
      {!isGoing(batch) && again > 0 && (
        <Button kind="main" onClick={retry}>
          {say('retryCount', { count: again })}
        </Button>
      )}
      <Button kind="danger" onClick={remove}>
        {t('delete')}
      </Button>
    </div>
  )
}

const filters = ['all', 'completed', 'failed', 'open'] as const
type Filter = (typeof filters)[number]
const isWanted: Readonly<Record<Filter, (row: Result) => boolean>> = {
  all: () => true,
  completed: ({ status }) => status === 'completed',
  failed: ({ status }) => status === 'failed' || status === 'cancelled',
  open: ({ status }) => status === 'pending' || status === 'running',
}
const shownAtOnce = 100

function Results({ batch: { id, counts } }: { readonly batch: Batch }) {
  const [filter, setFilter] = useState<Filter>('all')
  const [max, setMax] = useState(shownAtOnce)
  const results = useLoad(() => readResults(id, isWanted[filter], max), `${filter} ${max}`)
  useEffect(() => void (results.data && results.reload()), [JSON.stringify(counts)])
  return (
    <section class="list-of">
      <h2>{say('results')}</h2>
      <Choice
        label={say('show')}
        value={filter}
        options={filters.map((one) => [one, nameOf('filter', one)] as const)}
        onChange={(value) => setFilter(value as Filter)}
      />
      <Panel of={results}>
        {({ rows, hasMore }) => (
          <>
            <ol class="list-of plain">
              {rows.map((row) => (
                <ResultRow key={row.n} row={row} />
              ))}
              {!rows.length && <li class="note">{t('nothingFound')}</li>}
            </ol>
            {hasMore && <Button onClick={() => setMax(max + shownAtOnce)}>{t('more')}</Button>}
          </>
        )}
      </Panel>
    </section>
  )
}

const tones: Readonly<Record<string, string>> = { completed: 'good', failed: 'bad', cancelled: 'warn' }

const ResultRow = ({
  row: { n, id, status, prompt, output, error, cost_usd: cost, session_id: session },
}: {
  readonly row: Result
}) => (
  <li class="card list-of">
    <p class="row">
      <span class="note">{id ?? formatNumber(n)}</span>
      <span class={`badge ${tones[status] ?? ''}`}>{nameOf('item', status)}</span>
      {cost !== null && <span class="note">{formatCost(cost)}</span>}
      {session !== null && <a href={addressOf('chat', session)}>{t('toSession')}</a>}
    </p>
    <p class="clip-lines" dir="auto">
      {prompt}
    </p>
    {output !== null && (
      <details>
        <summary>{say('answer')}</summary>
        <p class="pre-line" dir="auto">
          {output}
        </p>
      </details>
    )}
    {error !== null && (
      <p class="failure" dir="auto">
        {error}
      </p>
    )}
  </li>
)

const formats = ['results', 'talaria', 'sharegpt'] as const

const Downloads = ({ batch: { id, name } }: { readonly batch: Batch }) => (
  <section class="list-of">
    <h2>{t('download')}</h2>
    <div class="row">
      {formats.map((format) => (
        <Button
          key={format}
          onClick={async () => {
            const answer = await send('GET', `${addressOfBatch(id)}/results?format=${format}`)
            download(`${name}-${format}.jsonl`, await answer.blob())
          }}
        >
          {nameOf('format', format)}
        </Button>
      ))}
    </div>
  </section>
)
