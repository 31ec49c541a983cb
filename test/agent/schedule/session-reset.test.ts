/** Tests when a chat begins a new conversation by itself. */

import { expect, it } from 'vitest'
import { isResetDue, type ResetFacts, type ResetPolicy } from '#agent/schedule/session-reset.ts'

const at = (time: string) => Date.parse(`2026-07-0${time}:00Z`)

it.each<[string, ResetPolicy, string, string, Partial<ResetFacts>, boolean]>([
  ['never without a policy', {}, '1T00:00', '9T00:00', {}, false],
  ['never with mode none', { mode: 'none' }, '1T00:00', '9T00:00', {}, false],
  ['after a day of silence by default', { mode: 'idle' }, '1T00:00', '2T00:00', {}, true],
  ['not before that day has passed', { mode: 'idle' }, '1T00:00', '1T23:59', {}, false],
  ['after the minutes that are set', { mode: 'idle', idle_minutes: 30 }, '1T00:00', '1T00:30', {}, true],
  ['not at an hour when only silence counts', { mode: 'idle' }, '1T03:00', '1T05:00', {}, false],
  ['at four by default', { mode: 'daily' }, '1T03:59', '1T04:00', {}, true],
  ['not twice on a day', { mode: 'daily' }, '1T04:00', '1T23:00', {}, false],
  ['when the hour was yesterday', { mode: 'daily', at_hour: 22 }, '1T21:00', '2T09:00', {}, true],
  ['not when the hour was before the last message', { mode: 'daily', at_hour: 22 }, '1T23:00', '2T09:00', {}, false],
  ['at the hour of the zone', { mode: 'daily' }, '1T01:59', '1T02:00', { zone: 'Europe/Berlin' }, true],
  ['not at the hour of another zone', { mode: 'daily' }, '1T03:59', '1T04:00', { zone: 'Europe/Berlin' }, false],
  ['not after long silence when only the hour counts', { mode: 'daily' }, '1T05:00', '2T03:00', {}, false],
  ['by either with both', { mode: 'both', idle_minutes: 60 }, '1T05:00', '1T06:00', {}, true],
  ['by the hour with both', { mode: 'both' }, '1T03:00', '1T05:00', {}, true],
  ['not while processes run', { mode: 'both', idle_minutes: 1 }, '1T00:00', '1T12:00', { isBusy: true }, false],
  ['in spite of processes after a day', { mode: 'both' }, '1T00:00', '2T00:00', { isBusy: true }, true],
])('resets %s', (...row) => {
  const [, policy, last, now, more, due] = row
  const facts = { lastActivityAt: at(last), now: at(now), zone: 'UTC', isBusy: false, ...more }
  expect(isResetDue(policy, facts)).toBe(due)
})
