/** One run: its steps with their calls and times, attempts, waits, notes, and tokens by model. */

import { useEffect, useState } from 'preact/hooks'
import { get, path } from '../../api/client.ts'
import { readEvents } from '../../api/read-stream.ts'
import { addToSteps, type Happening, listSteps, type RunStep } from '../../model/run-steps.ts'
import type { SessionEvent, Usage } from '../../model/types.ts'
import { Panel, Screen, useLoad } from '../../parts/load.tsx'
import { addressOf, place } from '../../parts/route.ts'
import { showError } from '../../parts/toast.ts'
import { formatCost, formatDate, formatDuration, formatNumber, formatTime } from '../../words/format.ts'
import { t } from '../../words/words.ts'
import { nameOf, say, sayDoing, sayExit, sayNote, sayReason } from './run-words.ts'

type Run = {
  readonly run_id: string
  readonly session_id: string
  readonly status: string
  readonly usage: Usage
  readonly usage_by_model: readonly (Usage & { readonly model: string; readonly calls?: number })[]
  readonly exit_reason: string | null
  readonly error: string | null
  readonly delivery_error?: string
  readonly activity: { readonly doing: string; readonly since: string | null }
  readonly started_at: string | null
  readonly ended_at: string | null
  readonly steps: number
  readonly attempts: number
  readonly waited_ms: number
  readonly notes: readonly { readonly at: string; readonly did: string; readonly why: string }[]
}

export function RunScreen() {
  const { id } = place.value
  const run = useLoad(() => get<Run>(path`/v1/runs/${id}`), id)
  return (
    <Screen
      title={t('run')}
      actions={run.data && <a href={addressOf('chat', run.data.session_id)}>{t('toSession')}</a>}
    >
      <Panel of={run}>
        {(data) => (
          <>
            <Facts run={data} />
            <Steps id={id} onEnd={run.reload} isDone={data.ended_at !== null} />
            <Models run={data} />
            <Notes notes={data.notes} />
          </>
        )}
      </Panel>
    </Screen>
  )
}

/** Good is a run that has ended as it should, and has delivered its answer. */
function toneOf({ status, exit_reason: reason, error, delivery_error: undelivered }: Run): string {
  if (status === 'failed' || error || undelivered) return 'bad'
  if (status === 'completed') return reason === 'partial' || reason === 'out_of_budget' ? 'warn' : 'good'
  return status === 'running' || status === 'queued' ? '' : 'warn'
}

/** Why it ended, where its state does not say so. */
function describeEnd({ status, exit_reason: reason }: Run): string {
  const isSaid = reason === null || reason === status || reason === 'answered' || reason === 'completed'
  return isSaid || (status === 'cancelled' && reason === 'stopped') ? '' : sayExit(reason)
}

function Facts({ run }: { readonly run: Run }) {
  const failure = run.error ?? run.delivery_error
  const tookMs = run.started_at && run.ended_at ? Date.parse(run.ended_at) - Date.parse(run.started_at) : undefined
  const facts: readonly (readonly [name: string, value: string | undefined])[] = [
    [say('doesNow'), run.ended_at ? undefined : sayDoing(run.activity.doing)],
    [t('startedAt'), run.started_at ? formatDate(run.started_at) : undefined],
    [t('duration'), tookMs === undefined ? undefined : formatDuration(tookMs)],
    [say('waited'), run.waited_ms ? formatDuration(run.waited_ms) : undefined],
    [t('steps'), formatNumber(run.steps)],
    [t('attempts'), formatNumber(run.attempts)],
    [t('cost'), formatCost(run.usage.cost_usd)],
  ]
  return (
    <>
      <p>
        <span class={`badge ${toneOf(run)}`}>{nameOf('status', run.status)}</span> {describeEnd(run)}
      </p>
      {failure && (
        <p class="failure" dir="auto">
          {failure}
        </p>
      )}
      <dl class="fields facts">
        {facts.map(
          ([name, value]) =>
            value !== undefined && (
              <div key={name}>
                <dt>{name}</dt>
                <dd>{value}</dd>
              </div>
            ),
        )}
      </dl>
    </>
  )
}

type StepsProps = { readonly id: string; readonly isDone: boolean; readonly onEnd: () => Promise<void> }

function Steps({ id, isDone, onEnd }: StepsProps) {
  const [steps, setSteps] = useState<readonly RunStep[]>([])
  const [isRead, setRead] = useState(false)
  useEffect(() => {
    const abort = new AbortController()
    setSteps([])
    readEvents<SessionEvent>(`${path`/v1/runs/${id}`}/events`, abort.signal, (events) =>
      setSteps((before) => events.reduce(addToSteps, before)),
    )
      .then(() => (isDone ? undefined : onEnd()))
      .catch((error: unknown) => void (abort.signal.aborted || showError(error)))
      .finally(() => setRead(true))
    return () => abort.abort()
  }, [id])
  const shown = listSteps(steps)
  return (
    <section class="list-of">
      <h2>{t('steps')}</h2>
      <ol class="list-of steps">
        {shown.map((step, at) => (
          <Step key={step.step} step={step} number={at + 1} />
        ))}
      </ol>
      {isRead && !shown.length && <p class="note">{say('noSteps')}</p>}
    </section>
  )
}

const Step = ({ step, number }: { readonly step: RunStep; readonly number: number }) => (
  <li class="card">
    <p class="row">
      <strong>{say('stepOf', { n: number })}</strong> <time dateTime={step.at}>{formatTime(step.at)}</time>
      {step.hasText && !step.calls.length && <span class="note">{t('answer')}</span>}
    </p>
    {step.calls.length + step.happened.length > 0 && (
      <ul>
        {step.calls.map((call) => (
          <li key={call.id} class="row">
            <code>{call.tool}</code>
            <span class="note">{call.durationMs === undefined ? t('running') : formatDuration(call.durationMs)}</span>
            {call.failed && <span class="badge bad">{t('failed')}</span>}
          </li>
        ))}
        {step.happened.map((one, index) => (
          <li key={index} class="row note">
            <time dateTime={one.at}>{formatTime(one.at)}</time> <span dir="auto">{sayHappening(one)}</span>
          </li>
        ))}
      </ul>
    )}
  </li>
)

function sayHappening({ word, ...values }: Happening): string {
  const said: Readonly<Record<string, string>> = values
  const { reason, decision, status } = said
  return say(word, {
    ...said,
    ...(reason !== undefined && { reason: sayReason(reason) }),
    ...(decision !== undefined && { decision: nameOf('decision', decision) }),
    ...(status !== undefined && { status: nameOf('status', status) }),
  })
}

const Models = ({ run: { usage_by_model: rows } }: { readonly run: Run }) => (
  <section>
    <h2>{say('tokensByModel')}</h2>
    <div class="table" tabIndex={0}>
      <table>
        <thead>
          <tr>
            <th>{t('model')}</th>
            <th>{t('input')}</th>
            <th>{t('output')}</th>
            <th>{say('cached')}</th>
            <th>{t('cost')}</th>
          </tr>
        </thead>
        <tbody>
          {rows.map((row, index) => (
            <tr key={index}>
              <td>{row.model}</td>
              <td>{formatNumber(row.input)}</td>
              <td>{formatNumber(row.output)}</td>
              <td>{formatNumber(row.cached_read)}</td>
              <td>{formatCost(row.cost_usd)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  </section>
)

const Notes = ({ notes }: Pick<Run, 'notes'>) =>
  notes.length > 0 && (
    <section>
      <h2>{t('notes')}</h2>
      <ul class="list-of">
        {notes.map(({ at, did, why }, index) => (
          <li key={index} class="row">
            <time dateTime={at}>{formatTime(at)}</time> <strong>{sayNote(did)}</strong>{' '}
            <span class="note">{sayReason(why)}</span>
          </li>
        ))}
      </ul>
    </section>
  )
