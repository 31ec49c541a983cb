/** Renders what a subagent is told: its role as instructions, its goal as the first message. */

import type { SubagentLimits, SubagentTask } from '#agent/core/subagent.ts'

const basics = [
  'You are a subagent: another agent has delegated one goal to you and waits for your report.',
  'You know only what the message says. You cannot ask anybody, and nobody sees your intermediate steps.',
  'Work on the goal until it is reached or you know that it cannot be. Check your own results.',
  'Your last message is the report. Say what you did, what you found, which files you created or changed, and what is open or went wrong. Be brief and exact, and never claim what you have not checked.',
]

const orchestrator = ({ depth, maxDepth }: SubagentLimits) => [
  'You may delegate parts of the goal with delegate_task, where they are independent of each other or would fill your context. Do small things yourself, and never pass on the whole goal.',
  `You are at depth ${depth} of ${maxDepth}.${depth + 1 >= maxDepth ? ' Your subagents cannot delegate further.' : ''} You are responsible for the report: check and combine theirs.`,
]

/** `limits`: those of the subagent. */
export const renderInstructions = ({ role }: SubagentTask, limits: SubagentLimits): string =>
  [...basics, ...(role === 'orchestrator' && limits.depth < limits.maxDepth ? orchestrator(limits) : [])].join('\n')

export const renderGoal = ({ goal, context }: SubagentTask, workspace: string): string =>
  [
    `Goal:\n${goal}`,
    ...(context?.trim() ? [`Context:\n${context}`] : []),
    `Workspace: ${workspace}. It is a copy of the files of the agent that delegates to you; files that you change there are copied back after your report.`,
  ].join('\n\n')
