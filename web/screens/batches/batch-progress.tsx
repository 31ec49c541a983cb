/** Shows how far a batch is and what it has cost, and asks again while it runs. */

import { useEffect } from 'preact/hooks'
import type { Loaded } from '../../parts/load.tsx'
import { formatCost, formatNumber } from '../../words/format.ts'
import { type Batch, totalOf } from './batch.ts'
import { nameOf, say } from './batch-words.ts'

const againMs = 3_000

/** Loads again while something runs and somebody looks. */
export function useProgress<T>(loaded: Loaded<T>, isRunning: boolean): void {
  useEffect(() => {
    if (!isRunning) return undefined
    const timer = setInterval(() => document.hidden || void loaded.reload(), againMs)
    return () => clearInterval(timer)
  }, [isRunning])
}

const tones: Readonly<Record<string, string>> = { running: '', cancelled: 'warn', out_of_budget: 'warn' }

/** A batch with a prompt that has failed is not good. */
export function Status({ batch: { status, counts } }: { readonly batch: Batch }) {
  const tone = tones[status] ?? (counts.failed ? 'bad' : 'good')
  return <span class={`badge ${tone}`}>{nameOf('status', status)}</span>
}

export function Progress({ batch }: { readonly batch: Batch }) {
  const { counts, spent_usd: spent, budget_usd: budget } = batch
  const total = totalOf(counts)
  const ended = total - counts.pending - counts.running
  const facts = [
    say('done', { count: formatNumber(counts.completed), total: formatNumber(total) }),
    counts.failed > 0 && say('failed', { count: formatNumber(counts.failed) }),
    counts.running > 0 && say('running', { count: formatNumber(counts.running) }),
    budget === null ? formatCost(spent) : say('ofBudget', { spent: formatCost(spent), budget: formatCost(budget) }),
  ]
  return (
    <>
      <progress class="wide" aria-label={`${say('progress')}: ${batch.name}`} max={total} value={ended} />
      <p class="note">{facts.filter(Boolean).join(' · ')}</p>
      {batch.reason && (
        <p class="failure" dir="auto">
          {batch.reason}
        </p>
      )}
    </>
  )
}
