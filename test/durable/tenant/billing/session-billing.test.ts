/** Tests the billing of a session: side calls, and the reports to the tenant's object. */

import { describe, expect, it } from 'vitest'
import type { Limits } from '#agent/core/settings.ts'
import { newTurn } from '#agent/core/turn.ts'
import { addUsage, noUsage, usageOfCall, type Usage } from '#agent/core/usage.ts'
import { SessionBilling, type SessionBillingOptions } from '#durable/tenant/billing/session-billing.ts'
import type { SideCallNote, SideCallNotes } from '#durable/storage/side-call-notes.ts'
import type { Reservation } from '#durable/tenant/billing/billing.ts'
import type { Amount } from '#durable/tenant/billing/spending.ts'
import type { Authority } from '#agent/core/permission/authority.ts'
import { ownerAuthority } from '#test/support/authority.ts'

const paid = (model: string, input: number, costUsd = 0) => usageOfCall({ ...noUsage, input, costUsd }, model)
const call = { model: 'a/one', tokens: 50, usd: 0.5 }
const turn = { ...newTurn('r1', 0, 9), usage: paid('a/one', 100, 1) }

/** The notes of side calls, in memory. */
class Notes {
  readonly usages = new Map<number, Usage>()
  constructor(left: readonly SideCallNote[]) {
    for (const note of left) this.set(note)
  }
  list = () => [...this.usages].map(([id, usage]) => ({ id, usage }))
  set = ({ id, usage }: SideCallNote) => void this.usages.set(id, usage)
  delete = (ids: readonly number[]) => ids.forEach((id) => this.usages.delete(id))
  get ids() {
    return [...this.usages.keys()]
  }
}

type Demand = Record<'spent' | 'held' | 'call', Amount>

/** Creates a session's billing and a tenant that logs the reports it receives. */
function open(limits: Limits, answer: Reservation = { ok: true }, left: readonly SideCallNote[] = []) {
  const notes = new Notes(left)
  const reports: string[] = []
  const late: [string, Usage][] = []
  const outage = { isAway: false }
  const options = { isHard: false, isUnattended: false }
  const background: Promise<unknown>[] = []
  const receive = async (report: string) => {
    if (outage.isAway) throw new Error('The tenant is unreachable.')
    reports.push(report)
  }
  const tenantBilling = {
    report: async (_: Authority, run: string, { tokens }: Amount, held: Amount) => {
      reports.push(`report ${run} ${tokens}${held.tokens ? ` and ${held.tokens} held` : ''}`)
      return answer
    },
    reserve: async (_: Authority, run: string, { spent, held, call }: Demand) => {
      await receive(`reserve ${run} ${spent.tokens} + ${held.tokens} + ${call.tokens}`)
      return answer
    },
  }
  const tenantLimits = {
    settleTurn: (_: Authority, run: string, { tokens, at }: { tokens: number; at: number }) =>
      receive(`settle ${run} ${tokens} at ${at}`),
    releaseTurn: (_: Authority, run: string) => receive(`release ${run}`),
  }
  const billing = new SessionBilling({
    tenant: () =>
      ({ billing: tenantBilling, limits: tenantLimits }) as unknown as ReturnType<SessionBillingOptions['tenant']>,
    authority: () => ownerAuthority('t'),
    limits: () => limits,
    usage: () => noUsage,
    sessionBytes: () => ({ sessionId: 's', bytes: 1 }),
    addLateUsage: (run, usage) => void late.push([run, usage]),
    notes: notes as unknown as SideCallNotes,
    hasHardLimit: () => options.isHard,
    isUnattended: () => options.isUnattended,
    runInBackground: (work) => void background.push(work),
  })
  const settled = () => Promise.all(background)
  return { options, settled, billing, reports, late, notes, outage }
}

describe('the billing of a session', () => {
  it('reports nothing without a limit', async () => {
    const { billing, reports } = open({})
    billing.report(turn, paid('a/one', 5))
    expect(billing.reserve(turn, call)).toMatchObject({ ok: true })
    await billing.settle('r1', { usage: turn.usage, at: 7 })
    expect(reports).toEqual([])
    expect(billing.reachedLimit(turn)).toBeUndefined()
  })

  it('reports the cost of the whole turn after each call and at its end', async () => {
    const { billing, reports } = open({ tokens_per_day: 1_000 })
    billing.report(turn, paid('a/one', 5))
    await billing.settle('r1', { usage: turn.usage, at: 7 })
    expect(reports).toEqual(['report r1 105', 'settle r1 100 at 7'])
  })

  it('frees the slot of a turn when only concurrent turns are limited', async () => {
    const { billing, reports } = open({ concurrent_turns: 2 })
    await billing.settle('r1', { usage: turn.usage, at: 7 })
    await billing.settle('queued', undefined)
    expect(reports).toEqual(['release r1', 'release queued'])
  })

  it.each([
    [{ concurrent_turns: 2 }, ['release r1', 'release queued']],
    [{ concurrent_turns: 2, tokens_per_day: 1_000 }, ['settle r1 100 at 7', 'release queued']],
  ])('queues reports while the tenant is unreachable, with %j', async (limits, expected) => {
    const { billing, reports, outage } = open(limits)
    outage.isAway = true
    await expect(billing.settle('r1', { usage: turn.usage, at: 7 })).rejects.toThrow('unreachable')
    await expect(billing.settle('r1', undefined)).rejects.toThrow('unreachable')
    await expect(billing.settle('queued', undefined)).rejects.toThrow('unreachable')
    await expect(billing.flush()).rejects.toThrow('unreachable')
    outage.isAway = false
    await billing.flush()
    await billing.flush()
    expect(reports).toEqual(expected)
  })

  it('reserves a call beside what the turn has spent and the other calls in flight', async () => {
    const { billing, reports, settled } = open({ usd_per_day: 1 })
    const first = await billing.reserve(turn, call)
    billing.addSideCall({ id: 1, usage: paid('b/two vision', 3) })
    const second = await billing.reserve(turn, call)
    if (first.ok) first.release()
    billing.report(turn, paid('a/one', 5))
    if (second.ok) second.release()
    billing.report(turn, paid('a/one', 6))
    await settled()
    expect(reports).toEqual([
      'reserve r1 100 + 0 + 50',
      'reserve r1 103 + 50 + 50',
      'report r1 108 and 50 held',
      'report r1 109',
    ])
  })

  it.each<readonly [string, Reservation, object]>([
    ['is refused', { ok: false, limit: 'usd_per_day', retryAfter: 60 }, { kind: 'limit' }],
    [
      'waits for the other calls',
      { ok: false, limit: 'usd_per_day', retryAfter: 1, isReserved: true },
      { kind: 'limit', retryAfterMs: 1_000 },
    ],
  ])('a call %s', async (_what, answer, failure) => {
    const { billing } = open({ usd_per_day: 1 }, answer)
    const message = 'The limit usd_per_day is reached.'
    expect(await billing.reserve(turn, call)).toEqual({ ok: false, failure: { ...failure, message } })
  })

  it('a call waits while the tenant is unreachable', async () => {
    const { billing, outage } = open({ usd_per_day: 1 })
    outage.isAway = true
    expect(await billing.reserve(turn, call)).toMatchObject({
      ok: false,
      failure: { kind: 'limit', retryAfterMs: 5_000 },
    })
  })

  it('a call without a known price is refused under a limit in USD, and not under one of tokens', async () => {
    const unpriced = { ...call, usd: undefined }
    expect(open({ usd_per_turn: 1 }).billing.reserve(turn, unpriced)).toMatchObject({
      failure: { kind: 'unpriced', message: expect.stringContaining('models["a/one"].prices') },
    })
    expect(await open({ tokens_per_day: 1_000 }).billing.reserve(turn, unpriced)).toMatchObject({ ok: true })
  })

  it('reserves the calls of an unattended turn without any limit', async () => {
    const { billing, reports, options } = open({})
    options.isUnattended = true
    await billing.reserve(turn, { ...call, usd: undefined })
    await billing.settle('r1', { usage: turn.usage, at: 7, isUnattended: true })
    expect(reports).toEqual(['reserve r1 100 + 0 + 50', 'settle r1 100 at 7'])
  })

  it('shows the warning of the tenant to the turn that got it', async () => {
    const warning = { limit: 'usd_per_day', percent: 85 } as const
    const { billing } = open({ usd_per_day: 1 }, { ok: true, warning })
    await billing.reserve(turn, call)
    expect(billing.nearLimit(turn)).toEqual(warning)
    expect(billing.nearLimit({ ...turn, id: 'r2' })).toBeUndefined()
  })

  it('hands the usage of side calls to the next call of the turn, once', () => {
    const { billing } = open({})
    billing.addSideCall({ id: 1, usage: paid('b/two vision', 3) })
    billing.addSideCall({ id: 2, usage: paid('b/two vision', 4) })
    expect(billing.claimSideCalls(turn)).toMatchObject({ input: 7, by: { 'b/two vision': { calls: 2 } } })
    expect(billing.claimSideCalls(turn)).toBeUndefined()
  })

  it('keeps the notes of side calls until a turn with their usage is written', () => {
    const { billing, notes } = open({})
    billing.addSideCall({ id: 1, usage: paid('b/two vision', 3) })
    billing.confirmSideCalls(turn)
    expect(notes.ids).toEqual([1])
    const taken = billing.claimSideCalls(turn)!
    billing.addSideCall({ id: 2, usage: paid('b/two vision', 4) })
    billing.confirmSideCalls({ ...turn, draft: 'written in between' })
    expect(notes.ids).toEqual([1, 2])
    billing.confirmSideCalls({ ...turn, usage: addUsage(turn.usage, taken) })
    expect(notes.ids).toEqual([2])
  })

  it('takes over the notes of an evicted instance', async () => {
    const { billing, notes, late } = open({}, { ok: true }, [{ id: 3, usage: paid('b/two vision', 3) }])
    billing.addSideCall({ id: 4, usage: paid('b/two vision', 4) })
    await billing.settle('r1', { usage: turn.usage, at: 7 })
    expect(late).toMatchObject([['r1', { input: 7, by: { 'b/two vision': { calls: 2 } } }]])
    expect(notes.ids).toEqual([])
  })

  it('adds unclaimed side calls to the ended turn, and reports them to the tenant', async () => {
    const { billing, reports, late } = open({ tokens_per_day: 1_000 })
    billing.addSideCall({ id: 1, usage: paid('b/two vision', 30) })
    await billing.settle('another', undefined)
    expect(late).toEqual([])
    await billing.settle('r1', { usage: turn.usage, at: 7 })
    expect(late).toEqual([['r1', paid('b/two vision', 30)]])
    expect(reports).toEqual(['settle r1 130 at 7'])
  })
})

describe('a call of a fixed price', () => {
  const picture = { model: 'fal/x', tokens: 0, usd: 0.053, isFixed: true }
  const unpaid = newTurn('r1', 0, 9)

  it.each<readonly [string, Limits, number]>([
    ['no limit', {}, 6],
    ['a session limit below its price', { usd_per_session: 0.001 }, 0],
    ['a session limit for two', { usd_per_session: 0.12 }, 2],
    ['a turn limit for exactly one', { usd_per_turn: 0.053 }, 1],
    ['a limit of tokens', { tokens_per_turn: 1 }, 6],
  ])('side by side with others fits into %s', async (_name, limits, allowed) => {
    const { billing } = open(limits)
    const answers = await Promise.all(Array.from({ length: 6 }, () => billing.reserve(unpaid, picture)))
    expect(answers.filter(({ ok }) => ok)).toHaveLength(allowed)
  })

  it('counts what is spent and not claimed yet, and is free again when it was not sent', async () => {
    const { billing } = open({ usd_per_session: 0.12 })
    const first = await billing.reserve(unpaid, picture)
    billing.addSideCall({ id: 1, usage: paid('fal/x', 0, 0.053) })
    if (first.ok) first.release()
    const second = await billing.reserve(unpaid, picture)
    expect([first.ok, second.ok]).toEqual([true, true])
    expect(await billing.reserve(unpaid, picture)).toMatchObject({ ok: false, failure: { kind: 'limit' } })
    if (second.ok) second.release()
    expect(await billing.reserve(unpaid, picture)).toMatchObject({ ok: true })
  })

  it('is held once when the tenant counts too, and not when the tenant refuses', async () => {
    const refusing = open({ usd_per_day: 1, usd_per_session: 0.06 }, { ok: false, limit: 'usd_per_day', retryAfter: 9 })
    expect(await refusing.billing.reserve(unpaid, picture)).toMatchObject({ ok: false })
    expect(refusing.reports).toHaveLength(1)
    const allowing = open({ usd_per_day: 1, usd_per_session: 0.06 })
    const both = await Promise.all([
      allowing.billing.reserve(unpaid, picture),
      allowing.billing.reserve(unpaid, picture),
    ])
    expect(both.map(({ ok }) => ok)).toEqual([true, false])
  })

  it('is like every call of a session with a hard limit, with a margin for the estimate', async () => {
    const { billing, options } = open({ usd_per_session: 0.1 })
    options.isHard = true
    const cost = { model: 'a/one', tokens: 10 }
    expect(await billing.reserve(unpaid, { ...cost, usd: 0.08 })).toMatchObject({ ok: true })
    const refused = await billing.reserve(unpaid, { ...cost, usd: 0.081 })
    expect(refused).toMatchObject({ ok: false, failure: { message: expect.stringContaining('usd_per_session') } })
  })

  it('differs from a model call, whose cost is known only afterwards', async () => {
    const { billing } = open({ usd_per_session: 0.001 })
    expect(await billing.reserve(unpaid, { model: 'a/one', tokens: 10, usd: 0.5 })).toMatchObject({ ok: true })
  })
})
