/** Manages jobs: prompts and scripts that run at their times. */

import * as z from 'zod'
import type { Assessment } from '#agent/core/permission/approval.ts'
import type { Risk } from '#agent/core/tool.ts'
import { parseTargets, renderTarget } from '#agent/schedule/job/targets.ts'
import type { JobAnswer, JobScheduler } from '#agent/core/job-scheduler.ts'
import { type JobChange, jobChangeSchema, jobFields } from '#agent/schedule/job/job.ts'
import { defineTool } from './define-tool.ts'
import { fail } from './tool-result.ts'

// A job of a conversation belongs to its project.
const { schedule, project_id: _project, ...fields } = jobFields

const input = z.object({
  action: z.enum(['create', 'list', 'update', 'pause', 'resume', 'run', 'remove']),
  job_id: z.string().max(100).optional().describe('The id or the name of the job; not for create and list.'),
  schedule: schedule.optional(),
  ...fields,
})
type Input = z.infer<typeof input>

export default defineTool({
  name: 'cronjob',
  toolset: 'cronjob',
  description:
    'Schedule work: a prompt (or a script) runs once or again and again, each time in a new session that knows only its prompt. Results are delivered to this conversation unless deliver says otherwise. Write prompts that stand alone: names, addresses, what to report and when to stay silent ([SILENT]).',
  input,
  needs: ['jobs'],
  effect: 'keyed',
  risk: riskOf,
  assess: assessJob,
  touches: ({ action }) => (action === 'list' ? 'nothing' : ['jobs']),
  timeoutMs: () => 60_000,
  run: async (request, { jobs, authority, callKey: key }) => {
    if (!authority.scopes.includes('jobs'))
      return fail('This conversation may not manage jobs: its key or person needs the scope "jobs".', {
        success: false,
      })
    return perform(request, { jobs, authority, key })
  },
})

/** The highest risk of what the job will do. */
function riskOf({ action, script, monitor_script: monitor, monitor_url: url, deliver }: Input): Risk {
  if (action === 'list') return 'read'
  if (action === 'run') return 'exec'
  if (action !== 'create' && action !== 'update') return 'write'
  if (listOutside(deliver).length) return 'send'
  if (script || monitor) return 'exec'
  return url ? 'net' : 'write'
}

/** The addresses to which results are sent. Chats are judged when the job is stored, which knows whose chat it is. */
function listOutside(deliver: string | undefined): readonly string[] {
  const parsed = deliver === undefined ? undefined : parseTargets(deliver)
  return parsed?.ok ? parsed.targets.filter(({ kind }) => kind === 'webhook').map(renderTarget) : []
}

/** Scripts run and results are sent later without any question, so a person has to see them now. */
function assessJob({ action, script, monitor_script: monitor, deliver }: Input): Assessment {
  const isChange = action === 'create' || action === 'update'
  const scripts = isChange ? [script, monitor].filter((text) => typeof text === 'string') : []
  const targets = isChange ? listOutside(deliver) : []
  if (!scripts.length && !targets.length) return { verdict: 'allow', reasons: [], subjects: [] }
  return {
    verdict: 'ask',
    reasons: [
      ...(scripts.length ? ['The job runs this script at its times without asking again.'] : []),
      ...(targets.length ? [`The job sends its results to ${targets.join(', ')} without asking again.`] : []),
    ],
    subjects: [...scripts, ...targets],
    summary: [...scripts, ...targets].join('\n'),
    ...(scripts.length > 0 && { isUnjudged: true }),
  }
}

type CronjobContext = {
  readonly jobs: JobScheduler
  readonly authority: Parameters<JobScheduler['list']>[0]
  readonly key: string
}

async function perform(request: Input, context: CronjobContext) {
  const { jobs, authority, key } = context
  const { action, job_id: reference } = request
  if (action === 'list') return listJobs(context)
  if (action === 'create') {
    if (request.schedule === undefined) return refused('create needs a schedule, such as "every 30m".')
    return answer(await jobs.create(authority, changeOf(request), key), 'Created.')
  }
  if (reference === undefined) return refused(`${action} needs job_id. list shows the jobs.`)
  switch (action) {
    case 'update':
      return answer(await jobs.update(authority, reference, changeOf(request)), 'Changed.')
    case 'pause':
      return answer(await jobs.change(authority, reference, 'pause'), 'Paused.')
    case 'resume':
      return answer(await jobs.change(authority, reference, 'resume'), 'Resumed.')
    case 'run':
      return answer(await jobs.run(authority, reference, key), 'Started. Its result is delivered when it is done.')
    case 'remove':
      return (await jobs.remove(authority, reference))
        ? { success: true, message: 'Removed.' }
        : refused(unknownJob(reference))
  }
}

const refused = (error: string) => fail(error, { success: false })
const unknownJob = (reference: string) => `There is no job "${reference}". list shows the jobs.`

async function listJobs({ jobs, authority }: CronjobContext) {
  const { jobs: found, hasMore } = await jobs.list(authority)
  return {
    success: true,
    jobs: found,
    count: found.length,
    ...(hasMore && { message: 'There are more jobs. A job is found by its name.' }),
  }
}

/** The fields of a job among those of the call. */
function changeOf({ action: _action, job_id: _reference, ...change }: Input): JobChange {
  return jobChangeSchema.parse(change)
}

function answer(outcome: JobAnswer, message: string) {
  switch (outcome.kind) {
    case 'done':
      return { success: true, message, job: outcome.job }
    case 'started':
      return { success: true, message, job: outcome.job, run: outcome.run }
    case 'refused':
      return refused(outcome.error)
  }
}
