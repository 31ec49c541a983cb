/** Provides the tenant's jobs to the tools of a session. Results come back to the session that makes a job. */

import type { ChatOrigin } from '#agent/core/delivery.ts'
import type { JobAnswer, JobScheduler } from '#agent/core/job-scheduler.ts'
import type { JobChanged, JobCreated } from '#durable/tenant/jobs/jobs.ts'
import { hashParts } from '#durable/tenant/jobs/chat-session.ts'
import { tenantStub } from '#durable/platform/addresses.ts'

export type SessionJobsOptions = {
  readonly env: Env
  readonly tenantId: string
  readonly sessionId: string
  /** The chat of the session. */
  readonly chat: () => ChatOrigin | undefined
  /** The id of the project of the session. */
  readonly project: () => string | undefined
  /** The text that the person has typed in this conversation. */
  readonly typed: () => string
}

/** The model sees these at most. */
const maxListed = 50
const jobIdChars = 12

export function createSessionJobs({
  env,
  tenantId,
  sessionId,
  chat,
  project,
  typed,
}: SessionJobsOptions): JobScheduler {
  const stub = () => tenantStub(env, tenantId).jobs
  return {
    create: async (authority, fields, key) => {
      const origin = chat()
      const id = (await hashParts([key])).slice(0, jobIdChars)
      const made = { sessionId, ...(origin && { chat: origin }), typed: typed() }
      return getAnswer(await stub().create(authority, fields, { id, origin: made, project: project() }))
    },
    update: async (authority, reference, fields) => getAnswer(await stub().update(authority, reference, fields)),
    change: async (authority, reference, to) =>
      getAnswer(await (to === 'pause' ? stub().pause(authority, reference) : stub().resume(authority, reference))),
    run: async (authority, reference, key) => {
      const outcome = await stub().run(authority, reference, `jobrun_${await hashParts([key])}`)
      if (outcome.kind === 'claimed') return { kind: 'started', job: outcome.job, run: outcome.run }
      return outcome.kind === 'busy' ? refused('A run of this job is in progress.') : refused(unknownJob)
    },
    remove: async (authority, reference) => stub().remove(authority, reference),
    list: async (authority) => {
      const { data, next } = await stub().list(authority, { limit: maxListed })
      return { jobs: data, hasMore: next !== undefined }
    },
  }
}

const unknownJob = 'There is no such job. The action list shows the jobs.'
const refused = (error: string): JobAnswer => ({ kind: 'refused', error })

function getAnswer(outcome: JobCreated | JobChanged): JobAnswer {
  switch (outcome.kind) {
    case 'changed':
      return { kind: 'done', job: outcome.job }
    case 'wrong':
      return refused(`${outcome.param}: ${outcome.message}`)
    case 'full':
      return refused(`There are ${outcome.maxJobs} jobs already. Remove one first.`)
    case 'unknown':
    case 'foreign':
      return refused(unknownJob)
  }
}
