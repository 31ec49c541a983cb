/** Claims the jobs that are due: it stores their next time and the record of each slot before anything runs. */

import { catchUp, type CatchUp } from '#agent/schedule/catch-up.ts'
import { dayMs } from '#agent/schedule/civil-time.ts'
import { type Job, jobSessionId } from '#agent/schedule/job/job.ts'
import { restoreSchedule } from '#agent/schedule/schedule.ts'
import { newJobRunId } from '#durable/platform/ids.ts'
import type { JobRows } from './job-rows.ts'
import type { EndedRun, JobRun, RunRows } from './run-rows.ts'

/** A job that ran once is deleted after this time. */
const completedRetentionMs = 7 * dayMs

export const iso = (at: number): string => new Date(at).toISOString()

export type Claims = {
  readonly jobs: JobRows
  readonly runs: RunRows
  /** Delivers what a slot without a run has to say. */
  readonly announce: (job: Job, run: EndedRun) => void
}

/** All of it is one write: a crash before it changes nothing, and after it no slot runs twice. */
export function claimDue(claims: Claims, now: number, limit: number): void {
  for (const { job, at } of claims.jobs.listDue(now, limit)) {
    if (job.state === 'completed') removeOld(claims, job)
    else claimJob(claims, job, { due: at, now })
  }
}

function removeOld({ jobs, runs }: Claims, { id }: Job): void {
  jobs.remove(id)
  runs.removeOfJob(id)
}

function claimJob(claims: Claims, job: Job, { due, now }: { readonly due: number; readonly now: number }): void {
  const found = catchUp(restoreSchedule(job.schedule), due, now)
  for (const missed of found.missed) addMissed(claims, job, missed, now)
  const runCount = job.runCount + (found.run ? 1 : 0)
  const isLast = found.next === undefined || (job.repeat !== undefined && runCount >= job.repeat)
  const removeAt = job.schedule.kind === 'once' ? now + completedRetentionMs : undefined
  const advanced: Job = { ...job, runCount, ...(isLast && { state: 'completed' }) }
  claims.jobs.update(advanced, isLast ? removeAt : found.next)
  if (found.skipped !== undefined) addSkipped(claims, advanced, { slot: found.skipped, missed: found.missed, now })
  if (found.run) addRun(claims, advanced, { slot: found.run.slot, now })
}

function addMissed({ runs }: Claims, job: Job, { slot, slots, until }: CatchUp['missed'][number], now: number): void {
  const error =
    slots === 1
      ? 'The service was not available, and a later slot stands for this one.'
      : `The service was not available for ${slots} slots until ${iso(until)}, and a later slot stands for them.`
  runs.add({ ...ended(job, slot, now), status: 'missed', error, ...(slots > 1 && { slots }) }, undefined)
}

type Skipped = { readonly slot: number; readonly missed: CatchUp['missed']; readonly now: number }

function addSkipped({ runs, jobs, announce }: Claims, job: Job, { slot, missed, now }: Skipped): void {
  const others = missed.reduce((sum, one) => sum + one.slots, 0)
  const error = `It was due at ${iso(slot)}${others ? ` and ${others} times before` : ''}, but the service was not available until ${iso(now)}.`
  const run: EndedRun = { ...ended(job, slot, now), status: 'skipped_late', error, lateMs: now - slot }
  if (!runs.add(run, undefined)) return
  jobs.put({ ...job, lastRun: { at: now, status: run.status, error } })
  announce(job, run)
}

function addRun(claims: Claims, job: Job, { slot, now }: { readonly slot: number; readonly now: number }): void {
  const { runs } = claims
  if (!runs.findOpenOfJob(job.id)) return void claimRun(runs, job, { slot, now })
  const error = 'The run before was still in progress.'
  runs.add({ ...ended(job, slot, now), status: 'skipped', error, lateMs: now - slot }, undefined)
}

/** Undefined when the slot has a run already. `manualId`: the id of a run that somebody has asked for. */
export function claimRun(
  runs: RunRows,
  job: Job,
  { slot, now, manualId }: { readonly slot: number; readonly now: number; readonly manualId?: string },
): JobRun | undefined {
  const run: JobRun = {
    id: manualId ?? newJobRunId(),
    jobId: job.id,
    slot,
    status: 'claimed',
    claimedAt: now,
    lateMs: now - slot,
    sessionId: jobSessionId(job.id, iso(slot)),
    plan: job.plan,
    ...(manualId !== undefined && { isManual: true }),
  }
  return runs.add(run, now) ? run : undefined
}

const ended = (job: Job, slot: number, now: number) =>
  ({ id: newJobRunId(), jobId: job.id, slot, claimedAt: now, finishedAt: now }) satisfies Partial<EndedRun>
