/**
 * Runs batches: claims prompts, starts each in its session, and looks after it until it has ended. Every step may be
 * repeated after a crash: the session and the run of a prompt are stored before it starts, so that none runs twice.
 */

import { findRefusal, getHolder, keyOf, type Access } from '#agent/core/permission/access.ts'
import { actAs, type Authority, narrow } from '#agent/core/permission/authority.ts'
import { combineAuthorities } from '#agent/core/permission/contribution.ts'
import { log } from '#agent/core/log.ts'
import { sessionStub } from '#durable/platform/addresses.ts'
import { clock } from '#durable/platform/clock.ts'
import { failpoint } from '#durable/platform/failpoint.ts'
import { newRunId } from '#durable/platform/ids.ts'
import { isOwnReset } from '#durable/platform/object-reset.ts'
import { leaseMs, retryDelayMs } from '#durable/platform/schedule.ts'
import type { TenantEvent } from '../events/tenant-event.ts'
import type { JobOutcome, JobSession, StartOutcome } from '../jobs/session-port.ts'
import type { StoredValues } from '../stored-values.ts'
import { type ChangeCheck, TenantPart } from '../tenant-part.ts'
import {
  type Batch,
  type BatchItem,
  type BatchPlan,
  itemSessionId,
  type ItemStatus,
  type NewPrompt,
  nextName,
  parseItemSession,
} from './batch.ts'
import { chooseHold, raiseShare } from './batch-money.ts'
import { BatchRows } from './batch-rows.ts'

export type BatchesOptions = {
  readonly mayChange: ChangeCheck
  readonly tenantId: string
  readonly env: Env
  readonly sql: SqlStorage
  readonly values: StoredValues
  readonly access: () => Access
  readonly publish: (events: readonly TenantEvent[]) => unknown
  readonly armAlarm: () => void
  readonly runInBackground: (work: Promise<unknown>) => void
}

export type BatchCreated = { readonly kind: 'created'; readonly batch: Batch } | { readonly kind: 'full' | 'foreign' }
export type BatchRetried =
  | { readonly kind: 'running'; readonly batch: Batch }
  | { readonly kind: 'unknown' | 'busy' | 'nothing' }

export const maxBatches = 200
/** How often the end of a prompt is looked for, if its report is lost. */
const pollMs = 60_000
const maxOutputChars = 50_000

export class BatchRunner extends TenantPart {
  readonly #options: BatchesOptions
  readonly #rows: BatchRows
  /** Prompts that this instance looks after now. */
  readonly #active = new Set<string>()
  readonly #failures = new Map<string, number>()

  constructor(options: BatchesOptions) {
    super(options.mayChange)
    this.#options = options
    this.#rows = new BatchRows(options.sql)
  }

  /** `id`: a repeated request has the same one, and gets the batch that the first one made. */
  create(
    authority: Authority,
    id: string,
    plan: Omit<BatchPlan, 'authority'>,
    prompts: readonly NewPrompt[],
  ): BatchCreated {
    if (!this.mayChange(authority, 'jobs')) return { kind: 'foreign' }
    const earlier = this.#rows.get(id)
    if (earlier) return { kind: 'created', batch: earlier }
    if (this.#rows.count() >= maxBatches) return { kind: 'full' }
    const batch: Batch = {
      id,
      plan: { ...plan, authority: batchAuthority(authority, id) },
      status: 'running',
      counts: { pending: prompts.length, running: 0, completed: 0, failed: 0, cancelled: 0 },
      spentUsd: 0,
      heldUsd: 0,
      createdAt: clock.now(),
    }
    const items = prompts.map(({ prompt, id: label }, n): BatchItem => ({
      batch: id,
      n: n + 1,
      status: 'pending',
      prompt,
      label,
      attempt: 1,
    }))
    this.#rows.add(batch, items)
    this.wake()
    return { kind: 'created', batch: this.#rows.get(id) ?? batch }
  }

  /** Newest first. `next`: the position of the next page. */
  list(authority: Authority, { limit, before }: { readonly limit: number; readonly before?: number | undefined }) {
    if (!this.mayChange(authority, 'jobs')) return { data: [], next: undefined }
    const rows = this.#rows.list(limit + 1, before)
    const page = rows.slice(0, limit)
    return { data: page.map(({ batch }) => batch), next: rows.length > limit ? page.at(-1)?.n : undefined }
  }

  get(authority: Authority, id: string): Batch | undefined {
    return this.mayChange(authority, 'jobs') ? this.#rows.get(id) : undefined
  }

  /** In their order, behind the prompt with the number `after`. */
  items(authority: Authority, id: string, after: number, limit: number): readonly BatchItem[] {
    return this.mayChange(authority, 'jobs') ? this.#rows.items(id, after, limit) : []
  }

  /** Stops what runs and starts nothing more. */
  cancel(authority: Authority, id: string): Batch | undefined {
    if (!this.mayChange(authority, 'jobs')) return undefined
    const batch = this.#rows.get(id)
    if (batch?.status === 'running') this.#stop(batch, 'It was cancelled.')
    return this.#rows.get(id)
  }

  /** Runs again what has failed, was cancelled, or did not start. It does no more than both may who have started it. */
  retry(authority: Authority, id: string, { budgetUsd }: { readonly budgetUsd?: number | undefined }): BatchRetried {
    const batch = this.mayChange(authority, 'jobs') ? this.#rows.get(id) : undefined
    if (!batch) return { kind: 'unknown' }
    if (batch.counts.running > 0 || batch.status === 'running') return { kind: 'busy' }
    const again = this.#rows.listWith(id, ['failed', 'cancelled'])
    if (!again.length && !batch.counts.pending) return { kind: 'nothing' }
    for (const item of again) {
      const { batch: of, n, prompt, label, attempt } = item
      this.#rows.putItem({ batch: of, n, prompt, label, status: 'pending', attempt: attempt + 1 }, undefined)
    }
    const { authority: before, ...plan } = batch.plan
    const { counts, reason: _reason, endedAt: _endedAt, ...kept } = batch
    const { isCombined: _, ...joined } = combineAuthorities([batchAuthority(authority, id), before])
    this.#rows.put({
      ...kept,
      plan: { ...plan, authority: joined, ...(budgetUsd !== undefined && { budgetUsd }) },
      status: 'running',
      counts: { ...counts, pending: counts.pending + again.length, failed: 0, cancelled: 0 },
    })
    this.wake()
    return { kind: 'running', batch: this.#rows.get(id) ?? batch }
  }

  /** Deletes the batch with its prompts; the sessions stay. What runs is stopped. */
  remove(authority: Authority, id: string): boolean {
    const batch = this.mayChange(authority, 'jobs') ? this.#rows.get(id) : undefined
    if (!batch) return false
    for (const item of this.#rows.listWith(id, ['running'])) this.#stopRun(batch, item)
    this.#rows.remove(id)
    this.#schedule()
    return true
  }

  /** A session says that its turn is over. A lost report only delays the batch. */
  reportEnd(authority: Authority, sessionId: string): void {
    this.requireOwn(authority)
    const named = parseItemSession(sessionId)
    const item = named && this.#rows.item(named.batch, named.n)
    if (item?.status === 'running' && item.sessionId === sessionId) this.#advance(item)
  }

  // --- the alarm

  /** Starts what is due and does not wait for it: the alarm has to be free for the next. */
  wake(): void {
    for (const item of this.#rows.listDue(clock.now())) this.#advance(item)
    for (const { id } of this.#rows.listActive()) this.#claim(id)
    this.#schedule()
  }

  #schedule(): void {
    const next = this.#rows.firstCheckAt() ?? null
    const { values, armAlarm } = this.#options
    if ((values.get<number | null>(nextName) ?? null) !== next) values.set(nextName, next)
    armAlarm()
  }

  /** Claims prompts as long as there is room and money. Each claim is one write, before anything starts. */
  #claim(id: string): void {
    for (;;) {
      const batch = this.#rows.get(id)
      if (batch?.status !== 'running') return
      const refusal = findRefusal(this.#options.access(), getHolder(batch.plan.authority, 'jobs'))
      if (refusal === 'key-revoked' || refusal === 'role-changed')
        return this.#stop(batch, 'The key that started it may not do this any more.')
      // A suspended tenant goes on when it is active again.
      if (refusal) return
      const item = batch.counts.running < batch.plan.concurrency ? this.#rows.firstPending(id) : undefined
      const { pending, running } = batch.counts
      if (!item) return pending + running === 0 ? this.#end(batch, 'completed') : undefined
      const hold = chooseHold(batch)
      if (hold === 'wait') return
      if (hold === 'over') return this.#end(batch, 'out_of_budget', 'The budget is used up.')
      this.#start(batch, item, hold)
    }
  }

  #start(batch: Batch, item: BatchItem, heldUsd: number | undefined): void {
    const sessionId = itemSessionId(batch.id, item.n, item.attempt)
    const claimed: BatchItem = { ...item, status: 'running', sessionId, runId: newRunId(sessionId), heldUsd }
    this.#rows.putItem(claimed, clock.now())
    const held = batch.heldUsd + (batch.plan.budgetUsd === undefined ? 0 : (heldUsd ?? 0))
    this.#rows.put({ ...batch, counts: moved(batch.counts, 'pending', 'running'), heldUsd: held })
    this.#advance(claimed)
  }

  #end(batch: Batch, status: Batch['status'], reason?: string): void {
    const ended = { ...batch, status, endedAt: clock.now(), ...(reason !== undefined && { reason }) }
    this.#rows.put(ended)
    this.#publish(ended)
  }

  #stop(batch: Batch, reason: string): void {
    const pending = this.#rows.listWith(batch.id, ['pending'])
    for (const item of pending) this.#rows.putItem({ ...item, status: 'cancelled' }, undefined)
    const { counts } = batch
    const cancelled = counts.cancelled + pending.length
    for (const item of this.#rows.listWith(batch.id, ['running'])) {
      this.#rows.putItem({ ...item, isCancelled: true }, clock.now() + leaseMs)
      this.#stopRun(batch, item)
    }
    this.#end({ ...batch, counts: { ...counts, pending: 0, cancelled } }, 'cancelled', reason)
    this.#schedule()
  }

  #stopRun({ plan }: Batch, { sessionId = '', runId = '' }: BatchItem): void {
    const stopping = this.#session(sessionId).runs.stop(plan.authority, runId)
    this.#options.runInBackground(
      Promise.resolve(stopping).catch((error: unknown) =>
        log.warn('batches.unstopped', 'A prompt could not be stopped; its end is awaited.', { error }),
      ),
    )
  }

  #session(sessionId: string) {
    return sessionStub(this.#options.env, this.#options.tenantId, sessionId)
  }

  // --- one prompt

  /** The prompt is looked after again in a lease, in case this instance ends meanwhile. */
  #advance(item: BatchItem): void {
    const key = `${item.batch} ${item.n}`
    this.#rows.postpone(item, clock.now() + leaseMs)
    if (this.#active.has(key)) return
    this.#active.add(key)
    this.#options.runInBackground(this.#work(key, item))
  }

  async #work(key: string, item: BatchItem): Promise<void> {
    try {
      await this.#step(item.batch, item.n)
      this.#failures.delete(key)
    } catch (error) {
      if (isOwnReset(error)) return
      const failures = (this.#failures.get(key) ?? 0) + 1
      this.#failures.set(key, failures)
      log.warn('batches.step_failed', 'A step of a batch failed and will be repeated.', { error })
      this.#rows.postpone(item, clock.now() + retryDelayMs(failures))
    } finally {
      this.#active.delete(key)
    }
    this.#claim(item.batch)
    this.#schedule()
  }

  async #step(id: string, n: number): Promise<void> {
    const batch = this.#rows.get(id)
    const item = this.#rows.item(id, n)
    if (!batch || item?.status !== 'running') return
    if (!item.isStarted) {
      if (item.isCancelled) return this.#finish(item, { status: 'cancelled', costUsd: 0 })
      await failpoint('batch-claimed')
      if (!this.#noteStart(item, await this.#submit(batch, item))) return
    }
    const outcome: JobOutcome = await this.#session(item.sessionId ?? '').jobs.outcome(
      batch.plan.authority,
      item.runId ?? '',
    )
    await failpoint('batch-ended')
    this.#noteOutcome(item, outcome)
  }

  #submit({ plan }: Batch, item: BatchItem): Promise<StartOutcome | undefined> {
    const { sessionId = '', runId = '', prompt, heldUsd, label, n } = item
    const session: JobSession = {
      jobRun: sessionId,
      source: 'batch',
      title: `${plan.name}: ${label ?? n}`.slice(0, 100),
      ...(plan.model !== undefined && { model: plan.model }),
      ...(heldUsd !== undefined && { maxUsd: heldUsd }),
    }
    return this.#session(sessionId).jobs.start(plan.authority, session, {
      runId,
      text: prompt,
      ...(plan.instructions !== undefined && { instructions: plan.instructions }),
      ...(plan.maxSteps !== undefined && { maxTurns: plan.maxSteps }),
      ...(plan.maxOutputTokens !== undefined && { maxTokens: plan.maxOutputTokens }),
    })
  }

  /** Returns whether the session has the prompt. */
  #noteStart(before: BatchItem, outcome: StartOutcome | undefined): boolean {
    const item = this.#rows.item(before.batch, before.n)
    if (item?.status !== 'running' || item.sessionId !== before.sessionId) return false
    if (!outcome || outcome.kind === 'refused') {
      const error = outcome?.reason ?? 'The session of the prompt belongs to something else.'
      this.#finish(item, { status: 'failed', costUsd: 0, error })
      return false
    }
    const now = clock.now()
    if (outcome.kind === 'over-limit') {
      this.#rows.putItem({ ...item, error: `The limit ${outcome.limit} was reached.` }, now + outcome.retryAfterMs)
      return false
    }
    const { error: _, ...begun } = item
    this.#rows.putItem({ ...begun, isStarted: true, startedAt: now }, now + pollMs)
    return true
  }

  #noteOutcome(before: BatchItem, outcome: JobOutcome): void {
    const item = this.#rows.item(before.batch, before.n)
    if (item?.status !== 'running' || item.sessionId !== before.sessionId) return
    const failed: ItemStatus = item.isCancelled ? 'cancelled' : 'failed'
    switch (outcome.kind) {
      case 'running':
        return this.#rows.postpone(item, clock.now() + pollMs)
      case 'unknown':
        // Nobody knows what it has cost: all that was held counts.
        return this.#finish(item, {
          status: failed,
          costUsd: item.heldUsd ?? 0,
          error: 'The session of the prompt was deleted.',
        })
      case 'ended':
        return this.#noteEnd(item, outcome, failed)
    }
  }

  #noteEnd(item: BatchItem, outcome: Extract<JobOutcome, { readonly kind: 'ended' }>, failed: ItemStatus): void {
    const { costUsd, isCompleted, output, error } = outcome
    if (outcome.isOutOfBudget && costUsd === 0 && this.#tryWithMore(item)) return
    const cut = output.length > maxOutputChars ? `${output.slice(0, maxOutputChars)}\n… (shortened)` : output
    const status = isCompleted ? 'completed' : failed
    this.#finish(item, { status, costUsd, output: cut, ...(error !== undefined && { error }) })
  }

  /** Nothing was sent, because the share of the prompt was too small: it waits for a larger one. */
  #tryWithMore({ heldUsd = 0, ...item }: BatchItem): boolean {
    const batch = this.#rows.get(item.batch)
    const { budgetUsd, usdPerPrompt } = batch?.plan ?? {}
    if (!batch || item.isCancelled || budgetUsd === undefined || usdPerPrompt !== undefined) return false
    const { batch: of, n, prompt, label, attempt } = item
    this.#rows.putItem({ batch: of, n, prompt, label, status: 'pending', attempt: attempt + 1 }, undefined)
    const leastUsd = Math.max(batch.leastUsd ?? 0, raiseShare(heldUsd))
    const counts = moved(batch.counts, 'running', 'pending')
    this.#rows.put({ ...batch, counts, heldUsd: withoutHold(batch, counts, heldUsd), leastUsd })
    const discarding = this.#session(item.sessionId ?? '').info.delete(batch.plan.authority)
    this.#options.runInBackground(Promise.resolve(discarding).catch(() => undefined))
    return true
  }

  /** The end of a prompt, the counts and the money of its batch are one write. */
  #finish(
    item: BatchItem,
    end: Pick<BatchItem, 'output' | 'error'> & { readonly status: ItemStatus; readonly costUsd: number },
  ): void {
    const batch = this.#rows.get(item.batch)
    if (!batch) return
    const { heldUsd = 0, ...ended } = item
    this.#rows.putItem({ ...ended, ...end, finishedAt: clock.now() }, undefined)
    const counts = moved(batch.counts, 'running', end.status)
    const spentUsd = batch.spentUsd + end.costUsd
    const changed = { ...batch, counts, spentUsd, heldUsd: withoutHold(batch, counts, heldUsd) }
    this.#rows.put(changed)
    this.#publish(changed)
  }

  #publish({ id, status, counts, spentUsd }: Batch): void {
    this.#options.publish([{ type: 'batch.changed', id, status, counts, spent_usd: spentUsd }])
  }
}

/** Zero when nothing runs: rounding leaves no rest. */
const withoutHold = ({ plan, heldUsd }: Batch, { running }: Batch['counts'], released: number): number =>
  plan.budgetUsd === undefined || running === 0 ? 0 : Math.max(0, heldUsd - released)

const moved = (counts: Batch['counts'], from: ItemStatus, to: ItemStatus): Batch['counts'] => ({
  ...counts,
  [from]: counts[from] - 1,
  [to]: counts[to] + 1,
})

/** A prompt never schedules, approves or administers. Revoking the key that started the batch ends it. */
function batchAuthority(authority: Authority, id: string): Authority {
  const keyId = keyOf(authority)
  const { requestId: _, ...lasting } = narrow(actAs(authority, { kind: 'job', id }), {
    scopes: ['chat', 'read', 'write'],
  })
  return { ...lasting, ...(keyId !== undefined && { keyId }) }
}
