/** Describes in words what a run does or waits for, and for how long. */

import { useEffect, useRef, useState } from 'preact/hooks'
import type { RunStatus } from '../../model/timeline.ts'
import { formatNumber } from '../../words/format.ts'
import { t, type Word } from '../../words/words.ts'
import { timeline } from './store.ts'

const tickMs = 1_000
/** Silence that is worth a word. */
const silentSeconds = 10

/** By the kind of the failure. */
const reasons: Readonly<Record<string, Word>> = {
  rate: 'wait_rate',
  'upstream-rate': 'wait_rate',
  quota: 'wait_rate',
  overloaded: 'wait_busy',
  server: 'wait_busy',
  network: 'wait_network',
  stalled: 'wait_network',
  tls: 'wait_network',
  limit: 'wait_limit',
}

export function Progress() {
  const now = useClock()
  const silent = useSilence(now)
  return (
    <p class="progress" aria-hidden="true">
      <span class="dots" /> {describe(now, silent)}
    </p>
  )
}

function describe(now: number, silent: number): string {
  const { stopping, status, live } = timeline.value
  if (stopping) return t('stopping')
  if (status?.state === 'waiting') return describeWait(status, now)
  if (status?.state === 'writing')
    return t('writing', { tool: status.reason, chars: formatNumber(status.chars ?? 0), text: status.text ?? '' })
  if (status) return t(status.state)
  if (silent < silentSeconds) return t('answering')
  const working = live.find((block) => block.kind === 'tool' && block.state === 'running')
  return working?.kind === 'tool'
    ? t('silentTool', { tool: working.tool, seconds: silent })
    : t('silentFor', { seconds: silent })
}

function describeWait({ reason, until, attempt, attempts }: RunStatus, now: number): string {
  const why = t(reasons[reason] ?? 'wait_other')
  const seconds = until === undefined ? 0 : Math.ceil((Date.parse(until) - now) / 1_000)
  const which = attempt === undefined || attempts === undefined ? '' : ` ${t('attemptOf', { attempt, attempts })}`
  return `${why} ${seconds > 0 ? t('tryingIn', { seconds }) : t('tryingAgain')}${which}`
}

function useClock(): number {
  const [now, setNow] = useState(Date.now)
  useEffect(() => {
    const timer = setInterval(() => document.hidden || setNow(Date.now()), tickMs)
    return () => clearInterval(timer)
  }, [])
  return now
}

/** Seconds since the last event of the run. */
function useSilence(now: number): number {
  const last = useRef({ live: timeline.value.live, at: now })
  if (last.current.live !== timeline.value.live) last.current = { live: timeline.value.live, at: now }
  return Math.floor((now - last.current.at) / 1_000)
}
