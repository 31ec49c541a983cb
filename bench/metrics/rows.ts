/**
 * P10: counts the rows that the platform bills, in the object and in D1, indexes included. P21: counts what the reference
 * turn costs.
 */

import { json, sendMessage, type Target } from '../client.ts'
import { atMost, times, type Metric, type Row } from '../metric.ts'
import { loopOf } from './tool-loop.ts'

type Counter = { readonly written: number; readonly read: number }
type Rows = { readonly session: Counter; readonly d1: Counter; readonly alarms: number }

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

const alarmRowsOf = async (target: Target, session: string): Promise<number> =>
  (await json<Rows>(target, 'GET', `/api/bench/rows?session=${encodeURIComponent(session)}`)).alarms

type Sample = {
  readonly first: number
  readonly plain: number
  readonly step: number
  readonly second: number
  readonly alarms: number
}

export const rowsWritten: Metric = {
  id: 'P10',
  what: 'rows written',
  run: async (stage, { quick }) => {
    const { target, running } = await stage.counting()
    const [steps, seconds] = [20, quick ? 3 : 8]
    const sample = async (): Promise<Sample> => {
      const { session } = await sendMessage(target, 'Hello there. [[text 20]]')
      const first = await rowsOf(target, session)
      const alarmsBefore = await alarmRowsOf(target, session)
      await sendMessage(target, 'Hello again. [[text 20]]', session)
      const plain = await rowsOf(target, session)
      const alarms = (await alarmRowsOf(target, session)) - alarmsBefore
      await loopOf(stage.model, target, { steps }, session)
      const looped = await rowsOf(target, session)
      await sendMessage(target, `[[slow ttft=0 chunks=${seconds * 50} gap=20]]`, session)
      const streamed = await rowsOf(target, session)
      const perTurn = plain - first
      return {
        first,
        plain: perTurn,
        step: (looped - plain - perTurn) / steps,
        second: Math.max(0, streamed - looped - perTurn) / seconds,
        alarms,
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
      row('rows of the alarm, plain turn', 2, ({ alarms }) => alarms),
    ]
  },
}

/**
 * Published prices in USD (docs/design/durable.md). An object that is idle and may hibernate is not billed for its time.
 */
const prices = { objectRequest: 0.15e-6, workerRequest: 0.3e-6, objectSecond: 0.128 * 12.5e-6, row: 1e-6 }

/** The registration with the tenant's object. */
const tenantRows = 1

type Counts = { readonly counts: Readonly<Record<string, number>>; readonly workers: number }

/** Runs commands and searches files: both in isolates. */
const shellSteps =
  'call terminal {"command":"echo a > a.txt"} then terminal {"command":"cat a.txt"} then search_files {"pattern":"a"} then say done'

/** Two programs that run and one that does not compile. Each that runs needs an isolate that has run none. */
const programSteps =
  'call execute_code {"code":"console.log(1)"} then execute_code {"code":"console.log(1)"} then execute_code {"code":"let ="} then say done'

/** The dynamic workers that a turn with these steps starts. */
async function workersOf(target: Target, session: string, steps: string): Promise<number> {
  await json<Counts>(target, 'GET', '/api/bench/requests')
  await sendMessage(target, `[[${steps}]]`, session)
  return (await json<Counts>(target, 'GET', '/api/bench/requests')).workers
}

type CountedWorkers = { readonly workers: number; readonly programWorkers: number }

const workerRows = (samples: readonly CountedWorkers[]): readonly Row[] => [
  {
    metric: 'P21',
    what: 'unique dynamic workers, a turn with two commands and a search',
    unit: 'workers',
    goal: atMost(2),
    samples: samples.map(({ workers }) => workers),
  },
  {
    metric: 'P21',
    what: 'unique dynamic workers, a turn with three programs, one of which does not compile',
    unit: 'workers',
    goal: atMost(3),
    samples: samples.map(({ programWorkers }) => programWorkers),
    note: 'the compiler, and one for each program that runs',
  },
]

/** The reference turn: three model calls of 10 s and two steps with a tool. */
export const referenceTurn: Metric = {
  id: 'P21',
  what: 'cost of the reference turn',
  run: async (stage, { quick }) => {
    const { target, running } = await stage.counting()
    const sample = async () => {
      const { session } = await sendMessage(target, 'Hello there. [[text 20]]')
      const before = await rowsOf(target, session)
      const alarmsBefore = await alarmRowsOf(target, session)
      await json<Counts>(target, 'GET', '/api/bench/requests')
      const { total } = await sendMessage(target, '[[tools 2 todo {}]] [[slow ttft=9000 chunks=20 gap=50]]', session)
      const rows =
        (await rowsOf(target, session)) - before + (await alarmRowsOf(target, session)) - alarmsBefore + tenantRows
      const { counts } = await json<Counts>(target, 'GET', '/api/bench/requests')
      // The bench asks the session for its rows.
      const asked = Object.entries(counts).filter(([name]) => !name.includes('billedRows'))
      return {
        workers: await workersOf(target, session, shellSteps),
        programWorkers: await workersOf(target, session, programSteps),
        requests: asked.reduce((sum, [, count]) => sum + count, 0),
        counts,
        rows,
        seconds: total / 1000,
      }
    }
    const samples = await times(quick ? 1 : 3, sample).finally(() => running.kill())
    const usd = ({ requests, rows, seconds }: (typeof samples)[number]): number =>
      1000 *
      (prices.workerRequest + requests * prices.objectRequest + rows * prices.row + seconds * prices.objectSecond)
    const note = samples.map(
      ({ counts, rows, seconds }) => `${JSON.stringify(counts)}, ${rows} rows, ${seconds.toFixed(1)} s`,
    )[0]
    const shared = { metric: 'P21', ...(note !== undefined && { note }) }
    return [
      {
        ...shared,
        what: 'requests to objects, a turn of 30 s with 3 model calls and 2 tools',
        unit: 'requests',
        goal: atMost(12),
        samples: samples.map(({ requests }) => requests),
      },
      ...workerRows(samples),
      {
        ...shared,
        what: '1000 such turns, without the model',
        unit: 'USD',
        goal: atMost(0.075),
        samples: samples.map(usd),
      },
    ]
  },
}
