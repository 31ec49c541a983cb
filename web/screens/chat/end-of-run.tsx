/** Shows below the messages what goes on, and how the last run has ended. */

import { useEffect } from 'preact/hooks'
import { get, path } from '../../api/client.ts'
import { can } from '../../api/me.ts'
import { textOf } from '../../model/blocks.ts'
import type { Timeline } from '../../model/timeline.ts'
import { IconButton } from '../../parts/button.tsx'
import { Icon } from '../../parts/icon.tsx'
import { addressOf } from '../../parts/route.ts'
import { t } from '../../words/words.ts'
import { copy } from './copy.ts'
import { Progress } from './progress.tsx'
import { retry, session, timeline } from './store.ts'
import { branchFrom } from './turns.ts'
import { RatingButtons } from './rating.tsx'
import { ReadButton } from './read-button.tsx'
import { Versions } from './version-row.tsx'

type Run = { readonly status: string; readonly error: string | null }

export function EndOfRun() {
  const { run, messages, approvals, questions } = timeline.value
  // Their cards say what is waited for.
  if (run !== undefined && (approvals.length || questions.length)) return null
  return run === undefined ? <Ended messages={messages} /> : <Progress />
}

function Ended({ messages }: Pick<Timeline, 'messages'>) {
  const lastRun = messages.findLast(({ run_id: id }) => id)?.run_id
  return (
    <div class="end-of-run">
      <HowItEnded runId={lastRun} />
      <Actions messages={messages} lastRun={lastRun} />
    </div>
  )
}

type ActionsProps = Pick<Timeline, 'messages'> & { readonly lastRun: string | undefined }

/** The row of icons below the newest answer. */
function Actions({ messages, lastRun }: ActionsProps) {
  const canRetry = can('chat') && messages.some(({ role }) => role === 'user')
  const last = messages.at(-1)
  const answer = last?.role === 'assistant' ? textOf(last) : ''
  const first = messages.find(({ run_id: id }) => id === lastRun)
  return (
    <div class="actions">
      {first && <Versions seq={`${first.seq}`} />}
      {answer && <IconButton icon="copy" label={t('copy')} onClick={() => copy(answer)} />}
      {canRetry && <IconButton icon="retry" label={t('retryAnswer')} onClick={retry} />}
      {answer && last && <OfAnswer seq={last.seq} text={answer} />}
      {lastRun && can('chat') && (
        <IconButton icon="branch" label={t('branchAnswer')} onClick={() => branchFrom(lastRun)} />
      )}
      {lastRun && <RunLink id={lastRun} />}
    </div>
  )
}

const OfAnswer = ({ seq, text }: { readonly seq: number; readonly text: string }) => (
  <>
    <ReadButton id={`${seq}`} text={text} />
    <RatingButtons seq={seq} />
  </>
)

const RunLink = ({ id }: { readonly id: string }) => (
  <a class="icon-button" href={addressOf('run', id)} aria-label={t('runDetails')} title={t('runDetails')}>
    <Icon name="more" />
  </a>
)

/** After a reload the run itself says how it has ended. */
function useOutcome(runId: string | undefined): void {
  useEffect(() => {
    // The runs of an imported session and of a copy are not its own.
    const hasRuns = (session.value?.event_seq ?? 0) > 0
    if (runId === undefined || timeline.value.ended || !hasRuns) return
    const ask = async () => {
      // Without an answer only the note is missing.
      const run = await get<Run>(path`/v1/runs/${runId}`).catch(() => undefined)
      const { run: open, ended, messages } = timeline.value
      const isStill = open === undefined && !ended && messages.findLast(({ run_id: id }) => id)?.run_id === runId
      if (!isStill || (run?.status !== 'cancelled' && run?.status !== 'failed')) return
      const error = run.error === null ? {} : { error: run.error }
      timeline.value = { ...timeline.value, ended: { runId, kind: run.status, ...error } }
    }
    void ask()
  }, [runId])
}

function HowItEnded({ runId }: { readonly runId: string | undefined }) {
  const { ended, messages } = timeline.value
  const last = messages.at(-1)
  // The notice in the answer has the words of the provider.
  const isSaid = last?.role === 'assistant' && ended?.error !== undefined && textOf(last).includes(ended.error)
  useOutcome(runId)
  if (!ended || ended.kind === 'completed') return null
  if (ended.kind === 'cancelled') return <p class="note">{t('stopped')}</p>
  return (
    <div class="failure" role="alert">
      <p dir="auto">{isSaid ? t('failed') : (ended.error ?? t('failed'))}</p>
      <a href={addressOf('models')}>{t('models')}</a>
    </div>
  )
}
