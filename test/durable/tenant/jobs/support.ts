/** Helps tests of jobs: makes jobs by the API, moves the time, and waits for runs. */

import { runDurableObjectAlarm } from 'cloudflare:test'
import { replaceClock } from '#durable/platform/clock.ts'
import { createSkippingClock } from '#test/support/clock.ts'
import { until } from '#test/support/scripted-model.ts'
import { bindings, call, newTenant } from '#test/worker/client.ts'

export const minuteMs = 60_000
export const hourMs = 60 * minuteMs

export type Job = {
  readonly id: string
  readonly name: string
  readonly state: string
  readonly next_run_at: string | null
  readonly last_status: string | null
  readonly last_error: string | null
  readonly last_delivery_error: string | null
  readonly failure_streak: number
  readonly run_count: number
  readonly webhook_secret?: string
}
export type Run = {
  readonly id: string
  readonly slot: string
  readonly status: string
  readonly output: string | null
  readonly error: string | null
  readonly session_id: string | null
  readonly delivery_error: string | null
  readonly late_ms: number | null
}

export const tenantOf = (id: string) => bindings.TENANT.getByName(`t/${id}`)

/** A tenant whose time the test moves. */
export async function jobTenant(scopes?: string[]) {
  const clock = createSkippingClock()
  replaceClock(clock)
  const { id, key } = await newTenant(scopes)
  const get = async <T>(path: string) => (await call<T>('GET', path, { key })).body
  const runsOf = async (job: string) => (await get<{ data: Run[] }>(`/api/jobs/${job}/runs`)).data
  return {
    id,
    key,
    clock,
    get,
    runsOf,
    post: <T>(path: string, body?: object) => call<T>('POST', path, { key, ...(body && { body }) }),
    create: async (body: object) => {
      const { status, body: job } = await call<Job>('POST', '/api/jobs', { key, body })
      if (status !== 201) throw new Error(JSON.stringify(job))
      return job
    },
    jobOf: (job: string) => get<Job>(`/api/jobs/${job}`),
    /** Moves the time and handles the alarm. */
    pass: async (ms: number) => {
      clock.pass(ms)
      await runDurableObjectAlarm(tenantOf(id))
    },
    wake: () => runDurableObjectAlarm(tenantOf(id)),
    /** Waits until the newest run of the job has ended. */
    ended: (job: string, count = 1) =>
      until(async () => {
        const runs = await runsOf(job)
        const isOpen = runs.some(({ status }) => status === 'claimed' || status === 'running')
        return runs.length >= count && !isOpen ? runs : undefined
      }),
  }
}
