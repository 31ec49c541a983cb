/** Starts the subagents that wait, in their order, as long as there is a free place. */

import { log } from '#agent/core/log.ts'
import type { SubagentReport } from '#agent/core/subagent.ts'
import { isExhausted, type SubagentGrant } from '#agent/policy/subagent/money.ts'
import { startWatching } from '#agent/policy/subagent/stall.ts'
import { clock } from '#durable/platform/clock.ts'
import { failpoint } from '#durable/platform/failpoint.ts'
import { isOwnReset } from '#durable/platform/object-reset.ts'
import { type ChildRow, type ChildRows, isRunning } from './child-rows.ts'
import { lostReport } from './end-child.ts'
import type { SubagentStart } from './parent-session.ts'
import { withinLimit } from './reach.ts'
import { chooseGrant, createStart, limitsOf } from './start-child.ts'
import type { Session } from '../session.ts'
import { type SessionStub } from '#durable/platform/addresses.ts'

type Starting = {
  readonly session: Session
  readonly rows: ChildRows
  readonly stubOf: (id: string) => SessionStub
  readonly end: (row: ChildRow, report: SubagentReport) => void
}

export async function startQueued(starting: Starting): Promise<void> {
  const { session, rows } = starting
  const running = rows.all().filter(isRunning)
  const now = clock.now()
  const isDue = ({ state }: ChildRow) => state.at === 'queued' && (state.retryAt ?? 0) <= now
  const free = Math.max(0, limitsOf(session).maxConcurrent - running.length)
  const due = rows.all().filter(isDue)
  const chosen = due.slice(0, free)
  const held = running.map(({ state }) => state.grant)
  const grants = chosen.map((_row, i) => {
    const grant = chooseGrant(session, held, due.length - i)
    held.push(grant)
    return grant
  })
  for (const [i, row] of chosen.entries()) take(starting, row, grants[i] ?? {})
  const unstarted = rows.all().filter((row) => isRunning(row) && !row.state.isStarted)
  await Promise.all(unstarted.map((row) => start(starting, row.id)))
}

/** From here on the subagent may have started. */
function take({ session, rows, end }: Starting, row: ChildRow, grant: SubagentGrant): void {
  if (isExhausted(grant))
    return end(row, lostReport(row, 'error', 'Not started: the spending limit of this turn or session is used up.'))
  const now = clock.now()
  const state = {
    at: 'running',
    since: now,
    isStarted: false,
    seenAt: now,
    watched: startWatching(now),
    grant,
  } as const
  rows.put({ ...row, state })
  const { store } = session
  if (!store.current()) return
  store.addEvent({
    type: 'subagent.start',
    subagent_id: row.id,
    delegation_id: row.delegation,
    task_index: row.index,
    goal: row.task.goal.slice(0, 200),
    role: row.task.role,
    depth: limitsOf(session).depth + 1,
  })
  store.write()
}

/** A repetition finds the run of an earlier attempt. */
async function start(starting: Starting, id: string): Promise<void> {
  const { session, rows } = starting
  const row = rows.get(id)
  const tenant = session.tenant.snapshot
  if (!row || !isRunning(row) || !tenant) return
  try {
    if (row.stop !== undefined) return await stopUnstarted(starting, row, row.stop)
    await failpoint('before-subagent')
    const request = createStart(session, row, tenant, row.state.grant)
    const outcome = await withinLimit<SubagentStart>(async () =>
      starting.stubOf(id).subagents.start(request.authority, request),
    )
    await failpoint('after-subagent')
    applyOutcome(starting, id, outcome)
  } catch (error) {
    if (isOwnReset(error)) throw error
    log.warn('subagent.unstarted', 'A subagent could not be started; the alarm tries again.', { error })
    const latest = rows.get(id)
    if (latest && isRunning(latest)) rows.put({ ...latest, state: { ...latest.state, seenAt: clock.now() } })
  }
}

function applyOutcome({ rows, end }: Starting, id: string, outcome: SubagentStart): void {
  const row = rows.get(id)
  if (!row || !isRunning(row)) return
  switch (outcome.kind) {
    case 'started':
      return rows.put({ ...row, state: { ...row.state, isStarted: true, seenAt: clock.now() } })
    case 'over-limit':
      return rows.put({ ...row, state: { at: 'queued', retryAt: clock.now() + outcome.retryAfterMs } })
    case 'refused':
      return end(row, lostReport(row, 'error', `Not started: ${outcome.reason}`))
  }
}

/** An earlier attempt may have started it without an answer. */
async function stopUnstarted({ session, stubOf, end }: Starting, row: ChildRow, reason: string): Promise<void> {
  await withinLimit(async () => stubOf(row.id).runs.stop(session.ownAuthority, row.runId))
  end(row, lostReport(row, 'interrupted', reason))
}
