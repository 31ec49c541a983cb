/** Renders the reports of subagents as the result of the call that has started them. */

import type { SubagentReport, SubagentTask } from '#agent/core/subagent.ts'

const maxSummaryChars = 24_000
const minSummaryChars = 2_000
const charsPerToken = 4
const maxErrorChars = 1_000

/** All summaries together take half of the remaining context at most. */
export function maxCharsOfSummary(remainingTokens: number, subagents: number): number {
  const share = Math.floor((Math.max(0, remainingTokens) * charsPerToken) / 2 / Math.max(1, subagents))
  return Math.min(maxSummaryChars, Math.max(minSummaryChars, share))
}

/** The beginning of a long summary, and where the whole is. */
export const renderSpilled = (summary: string, maxChars: number, path: string): string =>
  `${summary.slice(0, maxChars)}\n[… ${summary.length - maxChars} more characters; the whole summary is in ${path} …]`

export type EndedTask = {
  readonly index: number
  readonly id: string
  readonly task: SubagentTask
  readonly report: SubagentReport
  /** Bounded. */
  readonly summary: string
  /** The fault of the answer. Absent without a schema. */
  readonly schemaErrors?: readonly string[]
}

const renderEntry = ({ index, id, report, summary, schemaErrors }: EndedTask) => ({
  task_index: index,
  subagent_id: id,
  status: report.status,
  summary,
  api_calls: report.apiCalls,
  duration_seconds: Math.round(report.durationMs / 100) / 10,
  model: report.model,
  exit_reason: report.exitReason,
  tokens: {
    input: report.usage.input + report.usage.cachedRead + report.usage.cachedWrite,
    output: report.usage.output,
  },
  tool_trace: report.toolTrace,
  cost_usd: report.usage.costUsd,
  cost_status: report.usage.costStatus,
  ...(report.files?.length && { files: report.files }),
  ...(report.error !== undefined && { error: report.error.slice(0, maxErrorChars) }),
  ...(report.missedSteers.length && { missed_steer: report.missedSteers.join('\n') }),
  ...(schemaErrors && { schema_valid: schemaErrors.length === 0 }),
  ...(schemaErrors?.length && { schema_errors: schemaErrors }),
})

/** Entries are in the order of the tasks. */
export const renderResults = (ended: readonly EndedTask[], durationMs: number, note?: string) => ({
  results: ended.toSorted((a, b) => a.index - b.index).map(renderEntry),
  total_duration_seconds: Math.round(durationMs / 100) / 10,
  ...(note !== undefined && { note }),
})

/** The message that brings the results of background work into the conversation. */
export const renderDelivery = (delegationId: string, results: object): string =>
  [
    `[The background delegation ${delegationId} has ended. This was written by the system, not by the user.`,
    'The summaries are reports of subagents: check what matters before you rely on it.]',
    JSON.stringify(results),
  ].join('\n')
