/** Converts jobs and their runs to the objects of the API and of the tool. */

import type { JobPlan } from '#agent/schedule/job/job.ts'
import { iso } from './claim-due.ts'
import type { JobRow } from './job-rows.ts'
import type { JobRun } from './run-rows.ts'

const orNull = <T>(value: T | undefined): T | null => value ?? null
const time = (at: number | undefined): string | null => (at === undefined ? null : iso(at))

export function jobView({ at, job }: Pick<JobRow, 'at' | 'job'>) {
  const { lastRun, schedule } = job
  return {
    id: job.id,
    name: job.plan.name,
    prompt: job.plan.prompt,
    schedule: job.scheduleText,
    schedule_kind: schedule.kind,
    display: job.display,
    timezone: schedule.kind === 'cron' ? schedule.zone : orNull(job.timezone),
    repeat: orNull(job.repeat),
    run_count: job.runCount,
    state: job.state,
    enabled: job.state === 'scheduled',
    next_run_at: job.state === 'scheduled' ? time(at) : null,
    last_run_at: time(lastRun?.at),
    last_status: orNull(lastRun?.status),
    last_error: orNull(lastRun?.error),
    last_delivery_error: orNull(lastRun?.deliveryError),
    failure_streak: job.failureStreak,
    ...planView(job.plan),
    created_at: iso(job.createdAt),
    updated_at: iso(job.updatedAt),
  }
}
export type JobView = ReturnType<typeof jobView>

const monitorText = ({ monitor }: JobPlan, kind: 'script' | 'url'): string | null =>
  monitor?.kind === kind ? monitor.text : null

const planView = (plan: JobPlan) => ({
  deliver: plan.deliver,
  skills: plan.skills,
  model: orNull(plan.model),
  expected_model: orNull(plan.expectedModel),
  script: orNull(plan.script),
  no_agent: plan.isScriptOnly,
  monitor_script: monitorText(plan, 'script'),
  monitor_url: monitorText(plan, 'url'),
  context_from: plan.contextFrom,
  continuity: plan.isContinuous,
  enabled_toolsets: orNull(plan.toolsets),
  workdir: orNull(plan.workdir),
  project_id: orNull(plan.project),
  attach_to_session: plan.isAttached,
  max_turns: orNull(plan.maxTurns),
  max_usd: orNull(plan.maxUsd),
  origin_session_id: orNull(plan.origin?.sessionId),
})

/** Slots without a run have neither a start nor a session. */
const hasBegun = ({ status }: JobRun): boolean => status !== 'missed' && status !== 'skipped_late'

export const jobRunView = (run: JobRun) => ({
  id: run.id,
  job_id: run.jobId,
  slot: iso(run.slot),
  status: run.status,
  manual: run.isManual ?? false,
  started_at: hasBegun(run) ? time(run.startedAt ?? run.claimedAt) : null,
  finished_at: time(run.finishedAt),
  late_ms: orNull(run.lateMs),
  session_id: run.runId === undefined ? null : orNull(run.sessionId),
  run_id: orNull(run.runId),
  output: orNull(run.output),
  error: orNull(run.error),
  delivery_error: orNull(run.deliveryError),
  slots: run.slots ?? 1,
})
export type JobRunView = ReturnType<typeof jobRunView>
