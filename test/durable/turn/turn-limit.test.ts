/** How many replies a turn may take: what the request says, else the session, else the tenant, else the standard. */

import { expect, it } from 'vitest'
import type { Settings } from '../../../src/agent/model/settings.ts'
import { effectiveSettings, maxTurns } from '../../../src/durable/tenant/tenant-snapshot.ts'

const agent = (max_turns: number): Settings => ({ agent: { max_turns } })

it.each([
  { who: 'nobody', tenant: {}, session: {}, asked: undefined, limit: 90 },
  { who: 'the tenant', tenant: agent(7), session: {}, asked: undefined, limit: 7 },
  { who: 'the session', tenant: agent(7), session: agent(5), asked: undefined, limit: 5 },
  { who: 'the request', tenant: agent(7), session: agent(5), asked: 3, limit: 3 },
])('is said by $who', ({ tenant, session, asked, limit }) => {
  expect(maxTurns(effectiveSettings(tenant, session), asked, 'api')).toBe(limit)
})

it('is 50 for a subagent, which has a setting of its own and none of its parent', () => {
  expect(maxTurns(agent(7), undefined, 'subagent')).toBe(50)
  expect(maxTurns({ ...agent(7), delegation: { max_iterations: 9 } }, undefined, 'subagent')).toBe(9)
})
