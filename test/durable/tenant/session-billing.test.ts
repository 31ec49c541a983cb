/** What a session spends beside its turns, and what the tenant's object hears of it. */

import { describe, expect, it } from 'vitest'
import type { Limits } from '../../../src/agent/model/settings.ts'
import { newTurn } from '../../../src/agent/model/turn.ts'
import { addUsage, noUsage, oneCall, type Usage } from '../../../src/agent/model/usage.ts'
import { SessionBilling, type SessionBillingOptions } from '../../../src/durable/tenant/session-billing.ts'
import type { SideNote, SideNotes } from '../../../src/durable/storage/side-call-notes.ts'
import type { Admission } from '../../../src/durable/tenant/tenant-object.ts'

const paid = (model: string, input: number, costUsd = 0) => oneCall({ ...noUsage, input, costUsd }, model)
const turn = { ...newTurn('r1', 0, 9), usage: paid('a/one', 100, 1) }

/** As they are kept in storage, in memory. */
class Notes {
  readonly kept = new Map<number, Usage>()
  constructor(left: readonly SideNote[]) {
    for (const note of left) this.put(note)
  }
  left = () => [...this.kept].map(([id, usage]) => ({ id, usage }))
  put = ({ id, usage }: SideNote) => void this.kept.set(id, usage)
  drop = (ids: readonly number[]) => ids.forEach((id) => this.kept.delete(id))
  get ids() {
    return [...this.kept.keys()]
  }
}

/** A tenant that notes what it hears. */
function open(limits: Limits, answer: Admission = { ok: true }, left: readonly SideNote[] = []) {
  const notes = new Notes(left)
  const heard: string[] = []
  const booked: [string, Usage][] = []
  const outage = { isAway: false }
  const hear = async (what: string) => {
    if (outage.isAway) throw new Error('The tenant is away.')
    heard.push(what)
  }
  const tenant = {
    charge: async (run: string, { tokens }: { tokens: number }) => {
      heard.push(`charge ${run} ${tokens}`)
      return answer
    },
    settleTurn: (run: string, { tokens, at }: { tokens: number; at: number }) =>
      hear(`settle ${run} ${tokens} at ${at}`),
    releaseTurn: (run: string) => hear(`release ${run}`),
  }
  const account = new SessionBilling({
    tenant: () => tenant as unknown as ReturnType<SessionBillingOptions['tenant']>,
    limits: () => limits,
    usage: () => noUsage,
    stored: () => ({ sessionId: 's', bytes: 1 }),
    book: (run, usage) => void booked.push([run, usage]),
    notes: notes as unknown as SideNotes,
  })
  return { account, heard, booked, notes, outage }
}

describe('an account', () => {
  it('says nothing to anybody where nothing is limited', async () => {
    const { account, heard } = open({})
    await account.report(turn, paid('a/one', 5))
    await account.settle('r1', { usage: turn.usage, at: 7 })
    expect(heard).toEqual([])
    expect(account.over(turn, 0)).toBeUndefined()
  })

  it('says what the whole turn has cost, after each call and at its end', async () => {
    const { account, heard } = open({ tokens_per_day: 1_000 })
    await account.report(turn, paid('a/one', 5))
    await account.settle('r1', { usage: turn.usage, at: 7 })
    expect(heard).toEqual(['charge r1 105', 'settle r1 100 at 7'])
  })

  it('gives back the place of a turn where only places are limited', async () => {
    const { account, heard } = open({ concurrent_turns: 2 })
    await account.settle('r1', { usage: turn.usage, at: 7 })
    await account.settle('queued', undefined)
    expect(heard).toEqual(['release r1', 'release queued'])
  })

  it.each([
    [{ concurrent_turns: 2 }, ['release r1', 'release queued']],
    [{ concurrent_turns: 2, tokens_per_day: 1_000 }, ['settle r1 100 at 7', 'release queued']],
  ])('keeps what a tenant that is away has to hear, with %j', async (limits, late) => {
    const { account, heard, outage } = open(limits)
    outage.isAway = true
    await expect(account.settle('r1', { usage: turn.usage, at: 7 })).rejects.toThrow('away')
    await expect(account.settle('r1', undefined)).rejects.toThrow('away')
    await expect(account.settle('queued', undefined)).rejects.toThrow('away')
    await expect(account.flush()).rejects.toThrow('away')
    outage.isAway = false
    await account.flush()
    await account.flush()
    expect(heard).toEqual(late)
  })

  it('knows from the answer that a limit is reached, and for how long', async () => {
    const { account } = open({ usd_per_day: 1 }, { ok: false, limit: 'usd_per_day', retryAfter: 60 })
    await account.report(turn, noUsage)
    expect(account.over(turn, Date.now())).toBe('usd_per_day')
    expect(account.over(turn, Date.now() + 61_000)).toBeUndefined()
  })

  it('hands side tasks to the next call of the turn, once', () => {
    const { account } = open({})
    account.add({ id: 1, usage: paid('b/two vision', 3) })
    account.add({ id: 2, usage: paid('b/two vision', 4) })
    expect(account.take(turn)).toMatchObject({ input: 7, by: { 'b/two vision': { calls: 2 } } })
    expect(account.take(turn)).toBeUndefined()
  })

  it('keeps the notes of side tasks until a turn is written that has them in its usage', () => {
    const { account, notes } = open({})
    account.add({ id: 1, usage: paid('b/two vision', 3) })
    account.written(turn)
    expect(notes.ids).toEqual([1])
    const taken = account.take(turn)!
    account.add({ id: 2, usage: paid('b/two vision', 4) })
    account.written({ ...turn, draft: 'somebody wrote the turn in between' })
    expect(notes.ids).toEqual([1, 2])
    account.written({ ...turn, usage: addUsage(turn.usage, taken) })
    expect(notes.ids).toEqual([2])
  })

  it('takes over what another life of the object has left', async () => {
    const { account, notes, booked } = open({}, { ok: true }, [{ id: 3, usage: paid('b/two vision', 3) }])
    account.add({ id: 4, usage: paid('b/two vision', 4) })
    await account.settle('r1', { usage: turn.usage, at: 7 })
    expect(booked).toMatchObject([['r1', { input: 7, by: { 'b/two vision': { calls: 2 } } }]])
    expect(notes.ids).toEqual([])
  })

  it('books what a turn did not take over before it ended, and counts it to the tenant', async () => {
    const { account, heard, booked } = open({ tokens_per_day: 1_000 })
    account.add({ id: 1, usage: paid('b/two vision', 30) })
    await account.settle('another', undefined)
    expect(booked).toEqual([])
    await account.settle('r1', { usage: turn.usage, at: 7 })
    expect(booked).toEqual([['r1', paid('b/two vision', 30)]])
    expect(heard).toEqual(['settle r1 130 at 7'])
  })
})
