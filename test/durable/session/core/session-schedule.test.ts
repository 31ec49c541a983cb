import { describe, expect, it } from 'vitest'
import { leaseMs, nextWake } from '#durable/platform/schedule.ts'
import * as schedules from '#durable/session/core/session-schedule.ts'

const now = 1_000_000
const idle: schedules.SessionFacts = {
  hasOpenTurn: false,
  isSuspended: false,
  isDriving: false,
  processesAt: undefined,
  newsAt: undefined,
  selfStartAt: undefined,
  mediaAt: undefined,
  browserAt: undefined,
  subagentsAt: undefined,
  heldAt: undefined,
  deliveryAt: undefined,
  expiresAt: undefined,
}
const open = { ...idle, hasOpenTurn: true }
const driving = { ...open, isDriving: true }
const suspended = { ...open, isSuspended: true }
const fresh = schedules.newSchedule

const wake = (schedule: schedules.SessionSchedule, facts: schedules.SessionFacts) =>
  nextWake(schedules.wakesOf(schedule, facts, now))

describe('when a session wakes', () => {
  const resting = schedules.driverStopped(fresh, now + 40_000, now)
  const ended = schedules.driverStopped(fresh, undefined, now)
  const failed = schedules.projectionFailed(fresh, now)
  it.each([
    ['never, while nothing is due', fresh, idle, undefined],
    ['after a lease, while a driver runs', fresh, driving, { reason: 'turn', at: now + leaseMs }],
    ['after a lease, when a driver could run', fresh, open, { reason: 'turn', at: now + leaseMs }],
    [
      'after a lease, while the tenant is read',
      schedules.starting(fresh, true),
      idle,
      { reason: 'turn', at: now + leaseMs },
    ],
    ['never, while a turn waits for a pending request', fresh, suspended, undefined],
    ['at the end of a back-off', resting, open, { reason: 'backOff', at: now + 40_000 }],
    [
      'after a lease, when a turn has ended and history lacks it',
      ended,
      idle,
      { reason: 'projection', at: now + leaseMs },
    ],
    ['two seconds after history failed once', failed, idle, { reason: 'projection', at: now + 2_000 }],
    ['when processes are polled', fresh, { ...idle, processesAt: now + 5 }, { reason: 'processes', at: now + 5 }],
    ['not for processes while it is deleted', schedules.closed(fresh), { ...idle, processesAt: now + 5 }, undefined],
    ['when the outbox sends', fresh, { ...idle, deliveryAt: now + 6 }, { reason: 'delivery', at: now + 6 }],
    ['when it expires', fresh, { ...idle, expiresAt: now + 7 }, { reason: 'expiry', at: now + 7 }],
    ['at the earliest of them', failed, { ...driving, deliveryAt: now + 6 }, { reason: 'delivery', at: now + 6 }],
  ])('%s', (_case, schedule, facts, expected) => {
    expect(wake(schedule, facts)).toEqual(expected)
  })
})

describe('sending to history', () => {
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
    expect(wake(sent, idle)).toBeUndefined()
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
