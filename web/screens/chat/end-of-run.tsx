/** Says below the messages what goes on, and how the last run has ended. */

import { can } from '../../api/me.ts'
import { Button } from '../../parts/button.tsx'
import { addressOf } from '../../parts/route.ts'
import { t } from '../../words/words.ts'
import { retry, timeline } from './store.ts'

export function EndOfRun() {
  const { run, messages, approvals, questions } = timeline.value
  // Their cards say what is waited for.
  if (run !== undefined && (approvals.length || questions.length)) return null
  if (run !== undefined)
    return (
      <p class="progress" aria-hidden="true">
        <span class="dots" /> {describeRun()}
      </p>
    )
  const canRetry = can('chat') && messages.some(({ role }) => role === 'user')
  const lastRun = messages.findLast(({ run_id: id }) => id)?.run_id
  return (
    <div class="end-of-run">
      <HowItEnded />
      {canRetry && <Button onClick={retry}>{t('retryAnswer')}</Button>}
      {lastRun && <a href={addressOf('run', lastRun)}>{t('runDetails')}</a>}
    </div>
  )
}

function describeRun(): string {
  const { stopping, status } = timeline.value
  return stopping ? t('stopping') : (status ?? t('answering'))
}

function HowItEnded() {
  const { ended } = timeline.value
  if (!ended || ended.kind === 'completed') return null
  if (ended.kind === 'cancelled') return <p class="note">{t('stopped')}</p>
  return (
    <div class="failure" role="alert">
      <p dir="auto">{ended.error ?? t('failed')}</p>
      <a href={addressOf('models')}>{t('models')}</a>
    </div>
  )
}
