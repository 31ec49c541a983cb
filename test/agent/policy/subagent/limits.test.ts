import { expect, it } from 'vitest'
import { subagentLimits, subagentTools } from '#agent/policy/subagent/limits.ts'

const all = ['terminal', 'delegate_task', 'clarify', 'memory', 'send_message', 'cronjob', 'mcp__a__b']

it.each([
  ['leaf', 1, 3, ['terminal', 'mcp__a__b']],
  ['orchestrator', 1, 1, ['terminal', 'mcp__a__b']],
  ['orchestrator', 1, 2, ['terminal', 'delegate_task', 'mcp__a__b']],
  ['orchestrator', 2, 2, ['terminal', 'mcp__a__b']],
] as const)('a %s at depth %i of %i has the tools %j', (role, depth, maxDepth, tools) => {
  expect(subagentTools(all, role, { depth, maxDepth })).toEqual(tools)
})

it('the stricter of setting and limit counts', () => {
  expect(subagentLimits({}, undefined, 0)).toEqual({ maxConcurrent: 10, maxDepth: 1, depth: 0 })
  const delegation = { max_concurrent_children: 5, max_spawn_depth: 2 }
  expect(subagentLimits({ delegation }, { children: 3 }, 1)).toEqual({ maxConcurrent: 3, maxDepth: 2, depth: 1 })
})
