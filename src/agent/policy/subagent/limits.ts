/** Reads how many subagents a session may run and how deep they may delegate, and chooses the tools of a subagent. */

import type { Limits, Settings } from '#agent/core/settings.ts'
import type { SubagentLimits, SubagentRole, SubagentTask } from '#agent/core/subagent.ts'

const defaultMaxConcurrent = 10
const defaultMaxDepth = 1

export const subagentLimits = (
  { delegation = {} }: Pick<Settings, 'delegation'>,
  limits: Limits | undefined,
  depth: number,
): SubagentLimits => ({
  maxConcurrent: Math.min(delegation.max_concurrent_children ?? defaultMaxConcurrent, limits?.children ?? Infinity),
  maxDepth: delegation.max_spawn_depth ?? defaultMaxDepth,
  depth,
})

/** Nobody answers a subagent, its parent remembers for it, and only the parent speaks to others. */
const withheldTools: ReadonlySet<string> = new Set([
  'clarify',
  'memory',
  'learning',
  'send_message',
  'place_call',
  'cronjob',
  'sessions_list',
  'sessions_send',
])
const delegationTool = 'delegate_task'

export type NamedTool = { readonly name: string; readonly toolset: string }

/**
 * The tools among `tools` that are in one of the asked toolsets. `members`: the built-in tools of these toolsets. An
 * orchestrator keeps the tool to delegate.
 */
export const chooseTools = (
  tools: readonly NamedTool[],
  { toolsets: asked = [], role }: Pick<SubagentTask, 'toolsets' | 'role'>,
  members: ReadonlySet<string>,
): readonly string[] =>
  tools.flatMap(({ name, toolset }) =>
    !asked.length ||
    members.has(name) ||
    asked.includes(toolset) ||
    (role === 'orchestrator' && name === delegationTool)
      ? [name]
      : [],
  )

/** The tools of the parent, without those that no subagent has. `depth`: that of the subagent. */
export const subagentTools = (
  parentTools: Iterable<string>,
  role: SubagentRole,
  { depth, maxDepth }: Pick<SubagentLimits, 'depth' | 'maxDepth'>,
): readonly string[] =>
  [...parentTools].filter(
    (name) => !withheldTools.has(name) && (name !== delegationTool || (role === 'orchestrator' && depth < maxDepth)),
  )
