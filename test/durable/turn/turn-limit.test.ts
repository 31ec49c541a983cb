/** Tests the step limit of a turn: the request's, else the session's, else the tenant's, else the default. */

import { expect, it } from 'vitest'
import type { Settings } from '#agent/core/settings.ts'
import { effectiveSettings, maxTurns } from '#durable/tenant/tenant-snapshot.ts'

const agent = (max_turns: number): Settings => ({ agent: { max_turns } })

it.each([
  { who: 'nobody', tenant: {}, session: {}, asked: undefined, limit: 90 },
  { who: 'the tenant', tenant: agent(7), session: {}, asked: undefined, limit: 7 },
  { who: 'the session', tenant: agent(7), session: agent(5), asked: undefined, limit: 5 },
  { who: 'the request', tenant: agent(7), session: agent(5), asked: 3, limit: 3 },
])('the step limit of $who applies', ({ tenant, session, asked, limit }) => {
  expect(maxTurns(effectiveSettings(tenant, session, true), asked, 'api')).toBe(limit)
})

it("is 50 for a subagent, which has its own setting and ignores the parent's", () => {
  expect(maxTurns(agent(7), undefined, 'subagent')).toBe(50)
  expect(maxTurns({ ...agent(7), delegation: { max_iterations: 9 } }, undefined, 'subagent')).toBe(9)
})
