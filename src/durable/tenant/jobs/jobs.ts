/** Keeps the jobs of a tenant and their runs, and runs them at their times. */

import { sha256Hex } from '#durable/platform/hash.ts'
import { type Authority, hasScope } from '#agent/core/permission/authority.ts'
import type { Job, JobChange, JobOrigin } from '#agent/schedule/job/job.ts'
import { nextRun } from '#agent/schedule/next-run.ts'
import { restoreSchedule } from '#agent/schedule/schedule.ts'
import { clock } from '#durable/platform/clock.ts'
import { newJobId, newJobRunId } from '#durable/platform/ids.ts'
import type { ScheduledPart } from '#durable/platform/part-schedule.ts'
import { type ChangeCheck, TenantPart } from '../tenant-part.ts'
import { buildJob, type JobFault } from './build-job.ts'
import { claimRun } from './claim-due.ts'
import { type JobRow, JobRows } from './job-rows.ts'
import { type JobRunView, jobRunView, type JobView, jobView } from './job-view.ts'
import { JobRunner, type RunnerOptions } from './job-runner.ts'
import { type JobRun, RunRows } from './run-rows.ts'

export type JobsOptions = Omit<RunnerOptions, 'jobs' | 'runs'> & {
  readonly mayChange: ChangeCheck
  /** The zone of the tenant. */
  readonly zone: () => string
  /** Whether runs of a job may be in the project. */
  readonly hasProject: (authority: Authority, project: string) => Promise<boolean>
  /** Of jobs in this project. */
  readonly defaultModel: (authority: Authority, project: string | undefined) => Promise<string>
  readonly maxJobs: () => number
  /** Returns why an address or a target of the job cannot be used. */
  readonly checkTargets: (authority: Authority, change: JobChange) => Promise<JobFault | undefined>
}

type RefusedChange = { readonly kind: 'unknown' } | { readonly kind: 'foreign' }
type Changed = { readonly kind: 'changed'; readonly job: JobView }
export type JobCreated = Changed | RefusedChange | JobFault | { readonly kind: 'full'; readonly maxJobs: number }
export type JobChanged = Changed | RefusedChange | JobFault
export type RunRequested =
  | { readonly kind: 'claimed'; readonly run: JobRunView; readonly job: JobView }
  | RefusedChange
  | { readonly kind: 'busy' }

/** `next`: the position of the next page. */
export type Listed<T> = { readonly data: readonly T[]; readonly next: number | undefined }
type JobPage = {
  readonly limit: number
  readonly before?: number | undefined
  /** Only those of this project. */
  readonly project?: string | undefined
}

const unknown = { kind: 'unknown' } as const
const foreign = { kind: 'foreign' } as const

export class TenantJobs extends TenantPart implements ScheduledPart {
  readonly #options: JobsOptions
  readonly #jobs: JobRows
  readonly #runs: RunRows
  readonly #runner: JobRunner

  constructor(options: JobsOptions) {
    super(options.mayChange)
    this.#options = options
    this.#jobs = new JobRows(options.sql)
    this.#runs = new RunRows(options.sql)
    this.#runner = new JobRunner({ ...options, jobs: this.#jobs, runs: this.#runs })
  }

  /**
   * `id`: a repeated request has the same one, and gets the job that the first one made. `project`: that of the
   * conversation, which the job belongs to if its runs may.
   */
  async create(
    authority: Authority,
    given: JobChange,
    {
      id,
      origin,
      project,
    }: { readonly id?: string; readonly origin?: JobOrigin; readonly project?: string | undefined } = {},
  ): Promise<JobCreated> {
    if (!this.mayChange(authority, 'jobs')) return foreign
    const isOfProject = project !== undefined && (await this.#options.hasProject(authority, project))
    const change = isOfProject ? { ...given, project_id: project } : given
    const [defaultModel, fault, approved] = await this.#check(authority, change)
    const earlier = id === undefined ? undefined : this.#find(authority, id)
    if (earlier) return { kind: 'changed', job: jobView(earlier) }
    if (fault) return fault
    const maxJobs = this.#options.maxJobs()
    if (this.#jobs.count() >= maxJobs) return { kind: 'full', maxJobs }
    const built = buildJob(change, undefined, this.#buildContext(authority, { defaultModel, id, origin, approved }))
    if (built.kind === 'wrong') return built
    this.#jobs.add(built.job, built.at)
    this.#options.armAlarm()
    return { kind: 'changed', job: jobView(built) }
  }

  /** `reference`: the id or the name of the job. */
  async update(authority: Authority, reference: string, change: JobChange): Promise<JobChanged> {
    if (!this.mayChange(authority, 'jobs')) return foreign
    const project = this.#find(authority, reference)?.job.plan.project
    const [defaultModel, fault, approved] = await this.#check(authority, change, project)
    const row = this.#find(authority, reference)
    if (!row) return unknown
    if (fault) return fault
    const built = buildJob(
      change,
      row.job,
      this.#buildContext(authority, { defaultModel, approved, except: row.job.id }),
    )
    if (built.kind === 'wrong') return built
    // A change that does not concern the time keeps it.
    const isSameTime = change.schedule === undefined && change.timezone === undefined
    const at = isSameTime ? row.at : built.at
    this.#jobs.update(built.job, at)
    this.#options.armAlarm()
    return { kind: 'changed', job: jobView({ job: built.job, at }) }
  }

  pause(authority: Authority, reference: string): JobChanged {
    if (!this.mayChange(authority, 'jobs')) return foreign
    const row = this.#find(authority, reference)
    if (!row) return unknown
    if (row.job.state !== 'scheduled') return { kind: 'changed', job: jobView(row) }
    return this.#store({ ...row.job, state: 'paused', updatedAt: clock.now() }, undefined)
  }

  /** A time that has passed while the job was paused does not run. */
  resume(authority: Authority, reference: string): JobChanged {
    if (!this.mayChange(authority, 'jobs')) return foreign
    const row = this.#find(authority, reference)
    if (!row) return unknown
    return row.job.state === 'paused' ? this.#resume(row.job) : { kind: 'changed', job: jobView(row) }
  }

  #resume(job: Job): Changed {
    const now = clock.now()
    const at = nextRun(restoreSchedule(job.schedule), now)
    return this.#store({ ...job, state: at === undefined ? 'completed' : 'scheduled', updatedAt: now }, at)
  }

  #store(job: Job, at: number | undefined): Changed {
    this.#jobs.update(job, at)
    this.#options.armAlarm()
    return { kind: 'changed', job: jobView({ job, at }) }
  }

  /** Runs the job now, besides its schedule. A paused job is resumed with the same write. `id`: of the run, the same for a repeated request. */
  run(authority: Authority, reference: string, id = newJobRunId()): RunRequested {
    if (!this.mayChange(authority, 'jobs')) return foreign
    const row = this.#find(authority, reference)
    if (!row) return unknown
    const { job } = row
    const earlier = this.#runs.get(id)
    if (earlier) return { kind: 'claimed', run: jobRunView(earlier), job: jobView(row) }
    if (this.#runs.findOpenOfJob(job.id)) return { kind: 'busy' }
    const run = this.#claimManual(job, id)
    const view = job.state === 'paused' ? this.#resume(job).job : jobView(row)
    this.#options.armAlarm()
    this.#runner.start(run.id)
    return { kind: 'claimed', run: jobRunView(run), job: view }
  }

  /** Two requests of one millisecond have slots of their own. */
  #claimManual(job: Job, id: string): JobRun {
    const now = clock.now()
    for (let slot = now; ; slot++) {
      const isTaken = this.#runs.hasSlot(job.id, slot)
      const run = isTaken ? undefined : claimRun(this.#runs, job, { slot, now, manualId: id })
      if (run) return run
    }
  }

  /** Deletes the job with its runs. A run that is in progress is stopped. */
  remove(authority: Authority, reference: string): boolean {
    if (!this.mayChange(authority, 'jobs')) return false
    const row = this.#find(authority, reference)
    if (!row) return false
    const open = this.#runs.findOpenOfJob(row.job.id)
    this.#jobs.remove(row.job.id)
    this.#runs.removeOfJob(row.job.id)
    this.#options.armAlarm()
    if (open) this.#runner.stop(open)
    return true
  }

  /** The jobs of a project that is deleted stay, outside of any project. */
  leaveProject(id: string): void {
    for (const { job } of this.#jobs.list(this.#jobs.count(), undefined, id)) {
      const { project: _, ...plan } = job.plan
      this.#jobs.put({ ...job, plan })
    }
  }

  get(authority: Authority, reference: string): JobView | undefined {
    const row = this.#find(authority, reference)
    return row && jobView(row)
  }

  /** Newest first. */
  list(authority: Authority, { limit, before, project }: JobPage): Listed<JobView> {
    this.requireOwn(authority)
    if (!hasScope(authority, 'jobs')) return { data: [], next: undefined }
    const found: JobRow[] = []
    let position = before
    // A person who acts in one chat sees only the jobs of this chat, so that more rows may have to be read.
    for (;;) {
      const rows = this.#jobs.list(limit + 1, position, project)
      found.push(...rows.filter(({ job }) => isVisible(job, authority)))
      position = rows.at(-1)?.n
      if (rows.length <= limit || found.length > limit) break
    }
    const page = found.slice(0, limit)
    return { data: page.map(jobView), next: found.length > limit ? page.at(-1)?.n : undefined }
  }

  /** Newest first. Undefined for an unknown job. */
  runs(authority: Authority, reference: string, { limit, before }: JobPage): Listed<JobRunView> | undefined {
    const row = this.#find(authority, reference)
    if (!row) return undefined
    const rows = this.#runs.list(row.job.id, limit + 1, before)
    const page = rows.slice(0, limit)
    return { data: page.map(({ run }) => jobRunView(run)), next: rows.length > limit ? page.at(-1)?.n : undefined }
  }

  /** A session says that its turn is over. The run is looked after at once; a lost report only delays it. */
  reportEnd(authority: Authority, sessionId: string): void {
    this.requireOwn(authority)
    const run = this.#runs.findOpenOfSession(sessionId)
    if (run?.status === 'running') this.#runner.start(run.id)
  }

  // --- the alarm

  wakeAt(): number | undefined {
    return this.#runner.wakeAt()
  }

  wake(now: number): void {
    this.#runner.wake(now)
  }

  // --- parts

  #find(authority: Authority, reference: string): JobRow | undefined {
    if (!this.mayChange(authority, 'jobs')) return undefined
    const row = this.#jobs.get(reference) ?? this.#jobs.findByName(reference)
    return row && isVisible(row.job, authority) ? row : undefined
  }

  #check(authority: Authority, change: JobChange, before?: string) {
    const { project_id: project = before } = change
    const scripts = hasScope(authority, 'approve') ? [change.script, change.monitor_script] : []
    const hashing = scripts.filter((text) => typeof text === 'string').map((text) => sha256Hex(text))
    return Promise.all([
      this.#options.defaultModel(authority, project ?? undefined),
      this.#options.checkTargets(authority, change),
      Promise.all(hashing),
    ])
  }

  #buildContext(
    authority: Authority,
    {
      defaultModel,
      approved,
      id,
      origin,
      except,
    }: {
      readonly defaultModel: string
      readonly approved: readonly string[]
      readonly id?: string | undefined
      readonly origin?: JobOrigin | undefined
      readonly except?: string
    },
  ) {
    return {
      authority,
      now: clock.now(),
      newId: () => id ?? newJobId(),
      zone: this.#options.zone(),
      defaultModel,
      approved,
      origin,
      isNameTaken: (name: string) => {
        const other = this.#jobs.findByName(name)
        return other !== undefined && other.job.id !== except
      },
      hasJob: (reference: string) => this.#find(authority, reference) !== undefined,
    }
  }
}

/** A person who acts in one chat sees the jobs of this chat. */
function isVisible({ plan }: Job, { channel }: Authority): boolean {
  if (!channel) return true
  const { authority: owner } = plan
  return owner.channel?.connection === channel.connection && owner.channel.chat === channel.chat
}
