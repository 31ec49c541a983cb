/** Runs what is due: claims jobs, takes their runs further and delivers results, some at a time, each on its own. */

import { allMarks } from '#agent/core/marks.ts'
import type { Authority } from '#agent/core/permission/authority.ts'
import { log } from '#agent/core/log.ts'
import type { Sources } from '#agent/routing/route.ts'
import type { Material } from '#agent/schedule/job/run-prompt.ts'
import { clock } from '#durable/platform/clock.ts'
import type { GuardedFetch } from '#durable/platform/guarded-fetch.ts'
import { isOwnReset } from '#durable/platform/object-reset.ts'
import { leaseMs, retryDelayMs } from '#durable/platform/schedule.ts'
import { claimDue } from './claim-due.ts'
import type { DeliveryContext } from './deliver-result.ts'
import { DeliveryRows, type Destination, type JobDelivery } from './delivery-rows.ts'
import type { JobRows } from './job-rows.ts'
import type { JobRunContext } from './run-job.ts'
import type { EndedRun, OpenRun, RunRows } from './run-rows.ts'
import type { SessionJobs } from './session-port.ts'
import { renderDelivery, type RunResult } from '#agent/schedule/job/answer.ts'
import type { Job, JobPlan } from '#agent/schedule/job/job.ts'
import { parseTargets, renderTarget, type Target } from '#agent/schedule/job/targets.ts'

export type RunnerOptions = {
  readonly env: Env
  readonly tenantId: string
  readonly sql: SqlStorage
  readonly jobs: JobRows
  readonly runs: RunRows
  readonly sessionOf: (sessionId: string) => SessionJobs & {
    /** Stops the turn of a run. */
    readonly stop: (authority: Authority, runId: string) => Promise<unknown>
  }
  readonly acceptMessage: DeliveryContext['acceptMessage']
  readonly hasSession: DeliveryContext['hasSession']
  readonly judgeDelivery: DeliveryContext['judgeDelivery']
  readonly sources: () => Promise<Sources>
  readonly modelOfProject: JobRunContext['modelOfProject']
  readonly loadSkills: (authority: Authority, names: readonly string[]) => Promise<Material['skills']>
  readonly guardedFetch: GuardedFetch
  readonly findHome: DeliveryContext['findHome']
  readonly armAlarm: () => void
  readonly runInBackground: (work: Promise<unknown>) => void
}

/** Runs of a tenant that are in progress at a time. Others stay due. */
const maxOpenRuns = 50
/** Results that are delivered at a time. */
const maxDeliveries = 50

export class JobRunner {
  readonly #options: RunnerOptions
  readonly #deliveries: DeliveryRows
  /** Work of this instance, by the id of the run or the key of the delivery. */
  readonly #active = new Set<string>()
  readonly #failures = new Map<string, number>()

  constructor(options: RunnerOptions) {
    this.#options = options
    this.#deliveries = new DeliveryRows(options.sql)
  }

  wakeAt(): number | undefined {
    const { jobs, runs } = this.#options
    const mayClaim = runs.countOpen() < maxOpenRuns
    const times = [mayClaim ? jobs.firstAt() : undefined, runs.firstCheckAt(), this.#deliveries.firstAt()]
    const known = times.filter((at) => at !== undefined)
    return known.length ? Math.min(...known) : undefined
  }

  /** Starts what is due and does not wait for it: the alarm has to be free for the next. */
  wake(now: number): void {
    const { jobs, runs } = this.#options
    const announce = (...[job, run]: Parameters<Parameters<typeof claimDue>[0]['announce']>) =>
      announceRun(this.#finishContext(), job, run)
    claimDue({ jobs, runs, announce }, now, Math.max(0, maxOpenRuns - runs.countOpen()))
    for (const run of runs.listDue(now, maxOpenRuns)) this.#advance(run, now)
    for (const delivery of this.#deliveries.listDue(now, maxDeliveries)) this.#deliver(delivery, now)
  }

  /** Takes a run further at once. */
  start(id: string): void {
    const run = this.#options.runs.getOpen(id)
    if (run) this.#advance(run, clock.now())
    this.#options.armAlarm()
  }

  /** Stops the session of a run whose job was deleted. */
  stop({ plan, sessionId, runId }: OpenRun): void {
    const { sessionOf, runInBackground } = this.#options
    if (sessionId === undefined || runId === undefined) return
    const stopping = sessionOf(sessionId).stop(plan.authority, runId)
    runInBackground(
      stopping.catch((error: unknown) => log.warn('jobs.unstopped', 'A run could not be stopped.', { error })),
    )
  }

  /** The run is looked after again in a lease, in case this instance ends meanwhile. */
  #advance(run: OpenRun, now: number): void {
    this.#options.runs.postpone(run.id, now + leaseMs)
    this.#work(
      run.id,
      async () => (await import('./run-job.ts')).advanceRun(this.#runContext(), run),
      (failures) => {
        this.#options.runs.postpone(run.id, clock.now() + retryDelayMs(failures))
      },
    )
  }

  #deliver(delivery: JobDelivery, now: number): void {
    if (this.#active.has(delivery.key)) this.#deliveries.put(delivery, now + leaseMs)
    this.#work(
      delivery.key,
      async () => (await import('./deliver-result.ts')).deliverResult(this.#deliveryContext(), delivery),
      () => undefined,
    )
  }

  /** One piece of work at a time for each key. */
  #work(key: string, work: () => Promise<void>, postpone: (failures: number) => void): void {
    if (this.#active.has(key)) return
    this.#active.add(key)
    this.#options.runInBackground(this.#run(key, work, postpone))
  }

  async #run(key: string, work: () => Promise<void>, postpone: (failures: number) => void): Promise<void> {
    try {
      await work()
      this.#failures.delete(key)
    } catch (error) {
      if (isOwnReset(error)) return
      const failures = (this.#failures.get(key) ?? 0) + 1
      this.#failures.set(key, failures)
      log.warn('jobs.step_failed', 'A step of a job failed and will be repeated.', { error })
      postpone(failures)
    } finally {
      this.#active.delete(key)
    }
    this.#options.armAlarm()
  }

  #finishContext() {
    const { jobs, runs } = this.#options
    return { jobs, runs, deliveries: this.#deliveries }
  }

  #runContext(): JobRunContext {
    return {
      ...this.#options,
      finish: (run, result, isBlocked) => {
        finishRun(this.#finishContext(), run, { result, isBlocked, now: clock.now() })
        if (run.runId === undefined) this.#discard(run)
        for (const delivery of this.#deliveries.listDue(clock.now(), maxDeliveries))
          this.#deliver(delivery, clock.now())
      },
    }
  }

  /** The session of a run without a turn has nothing to show. If this fails, it expires by itself. */
  #discard({ id, plan, sessionId }: OpenRun): void {
    const { sessionOf, runInBackground } = this.#options
    if (sessionId === undefined || (plan.script === undefined && plan.monitor?.kind !== 'script')) return
    const discarding = sessionOf(sessionId).discard(plan.authority, id)
    runInBackground(
      discarding.catch((error: unknown) =>
        log.warn('jobs.undiscarded', 'An unused session will expire later.', { error }),
      ),
    )
  }

  #deliveryContext(): DeliveryContext {
    return {
      ...this.#options,
      rows: this.#deliveries,
      fail: (delivery, error) => this.#recordFailure(delivery, error),
    }
  }

  #recordFailure({ run, target }: JobDelivery, error: string): void {
    const { jobs, runs } = this.#options
    const before = runs.get(run.id)?.deliveryError
    const deliveryError = [...(before === undefined ? [] : [before]), `${target}: ${error}`].join('; ')
    runs.annotate(run.id, { deliveryError })
    const job = jobs.get(run.jobId)?.job
    if (job?.lastRun) jobs.put({ ...job, lastRun: { ...job.lastRun, deliveryError } })
  }
}

// Ends a run: its record, what the job remembers of it, and the deliveries of its result are one write.

type FinishContext = {
  readonly jobs: JobRows
  readonly runs: RunRows
  readonly deliveries: DeliveryRows
}

type RunEnding = { readonly result: RunResult; readonly isBlocked?: true | undefined; readonly now: number }

/** Does nothing when the run has ended before. */
function finishRun(context: FinishContext, run: OpenRun, { result, isBlocked, now }: RunEnding): void {
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
function announceRun(context: FinishContext, job: Job, run: EndedRun): void {
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
        marks: run.marks ?? allMarks,
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
