import { describe, expect, it } from 'vitest'
import { leaseMs } from '#durable/platform/schedule.ts'
import * as schedules from '#durable/session/core/session-schedule.ts'

const now = 1_000_000
const idle: schedules.TurnFacts = { hasOpenTurn: false, isSuspended: false, isDriving: false }
const open = { ...idle, hasOpenTurn: true }
const driving = { ...open, isDriving: true }
const suspended = { ...open, isSuspended: true }
const fresh = schedules.newSchedule

describe('when a turn is looked at again', () => {
  const resting = schedules.driverStopped(fresh, now + 40_000, now)
  it.each([
    ['never, without a turn', fresh, idle, undefined],
    ['after a lease, while a driver runs', fresh, driving, now + leaseMs],
    ['after a lease, when a driver could run', fresh, open, now + leaseMs],
    ['after a lease, while the tenant is read', schedules.starting(fresh, true), idle, now + leaseMs],
    ['never, while a turn waits for a pending request', fresh, suspended, undefined],
    ['not before the end of a back-off', resting, open, undefined],
  ])('%s', (_case, schedule, facts, expected) => {
    expect(schedules.leaseEnd(schedule, facts, now)).toBe(expected)
  })

  it('has the end of a back-off', () => {
    expect(resting.backsOffUntil).toBe(now + 40_000)
  })
})

describe('sending to history', () => {
  it('is tried a lease after a turn has ended, and two seconds after a failure', () => {
    expect(schedules.driverStopped(fresh, undefined, now).projection.retryAt).toBe(now + leaseMs)
    expect(schedules.projectionFailed(fresh, now).projection.retryAt).toBe(now + 2_000)
  })

  it('arms a retry before it sends, in case the object is evicted', () => {
    const sending = schedules.projectionStarted(fresh, now)
    expect(sending.projection).toEqual({ isSent: true, failures: 0, retryAt: now + 16_000 })
    expect(schedules.isSettled(sending, idle)).toBe(false)
  })

  it('is settled when everything has arrived', () => {
    const sent = schedules.projectionSucceeded(schedules.projectionStarted(fresh, now))
    expect(schedules.isSettled(sent, idle)).toBe(true)
    expect(schedules.isSettled(sent, suspended)).toBe(true)
    expect(schedules.isSettled(sent, open)).toBe(false)
    expect(sent.projection.retryAt).toBeUndefined()
  })

  it('keeps the retry when a turn began while it was sending', () => {
    const during = schedules.turnChanged(schedules.projectionStarted(fresh, now))
    expect(schedules.projectionSucceeded(during).projection).toEqual({
      isSent: false,
      failures: 0,
      retryAt: now + 16_000,
    })
  })

  it('waits longer after each failure and forgets the failures after a success', () => {
    const twice = schedules.projectionFailed(schedules.projectionFailed(fresh, now), now)
    expect(twice.projection).toEqual({ isSent: false, failures: 2, retryAt: now + 4_000 })
    const sent = schedules.projectionSucceeded(schedules.projectionStarted(twice, now))
    expect(sent.projection).toEqual({ isSent: true, failures: 0, retryAt: undefined })
  })

  it('retries an unsettled run, but not later than history', () => {
    expect(schedules.settlementFailed(fresh, now).projection.retryAt).toBe(now + 1_000)
    const waiting = schedules.projectionFailed(fresh, now)
    expect(schedules.settlementFailed(waiting, now + 500).projection.retryAt).toBe(now + 2_000)
  })
})

describe('a turn', () => {
  it('can be driven unless it backs off or waits', () => {
    const resting = schedules.driverStopped(fresh, now + 1, now)
    expect(schedules.canDrive(fresh, open)).toBe(true)
    expect(schedules.canDrive(fresh, idle)).toBe(false)
    expect(schedules.canDrive(fresh, suspended)).toBe(false)
    expect(schedules.canDrive(resting, open)).toBe(false)
    expect(schedules.canDrive(schedules.turnResumed(resting), open)).toBe(true)
  })
})
