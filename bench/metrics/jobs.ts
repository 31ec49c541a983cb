/** P17: measures adding, changing and claiming a job of a tenant that has ten thousand. */

import { call, json, type Target, timedGet, TurnFailed } from '../client.ts'
import { atMost, type Metric, type Row, times } from '../metric.ts'

const tenant = 'bench-jobs'
const existing = 10_000
const concurrent = 20

type Job = { readonly id: string }

const newTenant = async (admin: Target): Promise<Target> => {
  await json(admin, 'POST', '/api/admin/tenants', { id: tenant, name: 'Jobs' })
  const limits = { jobs: 2 * existing, requests_per_minute: 1_000_000 }
  await json(admin, 'PATCH', `/api/admin/tenants/${tenant}`, { limits })
  const asked = { tenant_id: tenant, scopes: ['read', 'write', 'jobs', 'approve'], name: 'bench' }
  return { ...admin, key: (await json<{ key: string }>(admin, 'POST', '/api/admin/keys', asked)).key }
}

/** Runs once a year, so that nothing becomes due. */
const jobOf = (n: number) => ({ name: `job ${n}`, schedule: '0 0 1 1 *', script: 'true', no_agent: true })

/** A model without a key: the run is claimed, recorded, and ends before it has a session, which would take longer. */
const unstartable = (n: number) => ({
  name: `claimed ${n}`,
  schedule: '0 0 1 1 *',
  prompt: 'Report.',
  model: 'anthropic/claude-sonnet-4-5',
})

const timed = async (target: Target, method: string, path: string, body: object): Promise<number> => {
  const began = performance.now()
  const answer = await call(target, method, path, body)
  const took = performance.now() - began
  if (answer.status >= 300) throw new TurnFailed(`${method} ${path}: ${answer.status} ${answer.text.slice(0, 300)}`)
  return took
}

/** The least that a request of this tenant takes: the key, the limits and one call of its object. */
const emptyRequest = (target: Target, id: string): Promise<number> => timedGet(target, `/api/jobs/${id}`)

export const manyJobs: Metric = {
  id: 'P17',
  what: 'a job among ten thousand',
  run: async (stage, { rounds, quick }) => {
    const target = await newTenant((await stage.ours()).target)
    const count = quick ? existing / 10 : existing
    const jobs: Job[] = []
    for (let n = 0; n < count; n += concurrent)
      jobs.push(
        ...(await Promise.all(
          Array.from({ length: concurrent }, (_, k) => json<Job>(target, 'POST', '/api/jobs', jobOf(n + k))),
        )),
      )
    const [first] = jobs
    if (!first) throw new TurnFailed('no job was made')
    const claimed = await times(5 * rounds + 5, (n) => json<Job>(target, 'POST', '/api/jobs', unstartable(n)))
    const sample = async (n: number) => ({
      empty: await emptyRequest(target, first.id),
      add: await timed(target, 'POST', '/api/jobs', jobOf(count + n)),
      change: await timed(target, 'PATCH', `/api/jobs/${first.id}`, { schedule: `${n % 60} 0 1 1 *` }),
      claim: await timed(target, 'POST', `/api/jobs/${claimed[n]?.id}/run`, {}),
    })
    const found = (await times(5 * rounds + 5, sample)).slice(5)
    const row = (what: string, samples: readonly number[]): Row => ({
      metric: 'P17',
      what,
      unit: 'ms',
      goal: atMost(5),
      samples,
      note: `${count} jobs`,
    })
    const beyond = (kind: 'add' | 'change' | 'claim') => found.map((one) => one[kind] - one.empty)
    return [
      row('adding a job, beyond an empty request', beyond('add')),
      row('rescheduling a job, beyond an empty request', beyond('change')),
      row('claiming a run and recording its end, beyond an empty request', beyond('claim')),
    ]
  },
}
