/** P10: counts the rows that the platform bills, in the object and in D1, indexes included. */

import { json, sendMessage, type Target } from '../client.ts'
import { atMost, times, type Metric, type Row } from '../metric.ts'
import { loopOf } from './tool-loop.ts'

type Counter = { readonly written: number; readonly read: number }
type Rows = { readonly session: Counter; readonly d1: Counter }

const settleMs = 1500
const timeoutMs = 15_000

/** Waits until the number stays the same, because history is written after the end of a turn. */
const rowsOf = async (target: Target, session: string): Promise<number> => {
  let [last, since] = [-1, performance.now()]
  const until = since + timeoutMs
  while (performance.now() < until) {
    const rows = await json<Rows>(target, 'GET', `/api/bench/rows?session=${encodeURIComponent(session)}`)
    const written = rows.session.written + rows.d1.written
    if (written !== last) [last, since] = [written, performance.now()]
    else if (performance.now() - since > settleMs) return written
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
  throw new Error('The row count of a session does not settle.')
}

type Sample = { readonly first: number; readonly plain: number; readonly step: number; readonly second: number }

export const rowsWritten: Metric = {
  id: 'P10',
  what: 'rows written',
  run: async (stage, { quick }) => {
    const { target, running } = await stage.counting()
    const [steps, seconds] = [20, quick ? 3 : 8]
    const sample = async (): Promise<Sample> => {
      const { session } = await sendMessage(target, 'Hello there. [[text 20]]')
      const first = await rowsOf(target, session)
      await sendMessage(target, 'Hello again. [[text 20]]', session)
      const plain = await rowsOf(target, session)
      await loopOf(stage.model, target, steps, session)
      const looped = await rowsOf(target, session)
      await sendMessage(target, `[[slow ttft=0 chunks=${seconds * 50} gap=20]]`, session)
      const streamed = await rowsOf(target, session)
      const perTurn = plain - first
      return {
        first,
        plain: perTurn,
        step: (looped - plain - perTurn) / steps,
        second: Math.max(0, streamed - looped - perTurn) / seconds,
      }
    }
    const samples = await times(quick ? 1 : 3, sample).finally(() => running.kill())
    const row = (what: string, goal: number, pick: (sample: Sample) => number): Row => ({
      metric: 'P10',
      what,
      unit: 'rows',
      goal: atMost(goal),
      samples: samples.map(pick),
    })
    return [
      row('rows written, first turn', 14, ({ first }) => first),
      row('rows written, plain turn', 6, ({ plain }) => plain),
      row('rows written, tool step', 2, ({ step }) => step),
      row('rows written per second of streaming', 0, ({ second }) => second),
    ]
  },
}
