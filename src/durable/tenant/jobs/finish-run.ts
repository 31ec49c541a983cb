/** Ends a run: its record, what the job remembers of it, and the deliveries of its result are one write. */

import { renderDelivery, type RunResult } from '#agent/schedule/job/answer.ts'
import type { Job, JobPlan } from '#agent/schedule/job/job.ts'
import { parseTargets, renderTarget, type Target } from '#agent/schedule/job/targets.ts'
import type { DeliveryRows, Destination } from './delivery-rows.ts'
import type { JobRows } from './job-rows.ts'
import type { EndedRun, OpenRun, RunRows } from './run-rows.ts'

export type FinishContext = {
  readonly jobs: JobRows
  readonly runs: RunRows
  readonly deliveries: DeliveryRows
}

export type RunEnding = { readonly result: RunResult; readonly isBlocked?: true | undefined; readonly now: number }

/** Does nothing when the run has ended before. */
export function finishRun(context: FinishContext, run: OpenRun, { result, isBlocked, now }: RunEnding): void {
  const { plan, seen: _seen, error: _error, ...record } = run
  const ended: EndedRun = { ...record, ...result, finishedAt: now }
  if (!context.runs.end(ended)) return
  const job = context.jobs.get(run.jobId)?.job
  const changed = job && remember(job, ended, isBlocked)
  if (changed) context.jobs.put(changed)
  // A configuration that cannot work is reported once.
  if (isBlocked && job?.blocked === result.error) return
  addDeliveries(context, { run: ended, plan, failureStreak: changed?.failureStreak ?? 0, now })
}

/** Only runs that tried count as failures or end a series of them. */
function remember(job: Job, { status, output, error, finishedAt }: EndedRun, isBlocked: true | undefined): Job {
  const { blocked: _, ...rest } = job
  const failureStreak = status === 'failed' ? job.failureStreak + 1 : status === 'completed' ? 0 : job.failureStreak
  return {
    ...rest,
    failureStreak,
    lastRun: { at: finishedAt, status, ...(error !== undefined && { error }) },
    ...(status === 'completed' && output !== undefined && { lastOutput: output }),
    ...(isBlocked && error !== undefined && { blocked: error }),
  }
}

/** Delivers what a slot without a run has to say. */
export function announceRun(context: FinishContext, job: Job, run: EndedRun): void {
  addDeliveries(context, { run, plan: job.plan, failureStreak: 0, now: run.finishedAt })
}

type FinishedRun = {
  readonly run: EndedRun
  readonly plan: JobPlan
  readonly failureStreak: number
  readonly now: number
}

function addDeliveries({ deliveries }: FinishContext, { run, plan, failureStreak, now }: FinishedRun): void {
  const text = renderDelivery(run, { name: plan.name, isVerbatim: plan.isScriptOnly, failureStreak })
  if (text === undefined) return
  const { id, jobId, slot, status, error, sessionId } = run
  for (const [n, { to, target }] of listDestinations(plan).entries())
    deliveries.put(
      {
        key: `${id}:${n}`,
        run: {
          id,
          jobId,
          slot,
          status,
          ...(error !== undefined && { error }),
          ...(sessionId !== undefined && { sessionId }),
        },
        jobName: plan.name,
        to,
        target,
        text,
        authority: { ...plan.authority, principal: { kind: 'job', id: jobId } },
        createdAt: now,
        attempts: 0,
      },
      now,
    )
}

function listDestinations(plan: JobPlan): readonly { readonly to: Destination; readonly target: string }[] {
  const parsed = parseTargets(plan.deliver)
  const targets = parsed.ok ? parsed.targets : []
  const found = targets.flatMap((target) => {
    const to = createDestination(target, plan)
    return to ? [{ to, target: renderTarget(target) }] : []
  })
  const attached = plan.origin?.sessionId
  const isThere = found.some(({ to }) => to.kind === 'session' && to.sessionId === attached)
  if (!plan.isAttached || attached === undefined || isThere) return found
  return [...found, { to: { kind: 'session', sessionId: attached }, target: `session:${attached}` }]
}

function createDestination(target: Target, { origin }: JobPlan): Destination | undefined {
  switch (target.kind) {
    case 'local':
      return undefined
    case 'origin': {
      if (!origin) return undefined
      const { sessionId, chat } = origin
      return chat ? { kind: 'origin-chat', sessionId, chat } : { kind: 'session', sessionId }
    }
    default:
      return target
  }
}
