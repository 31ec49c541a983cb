/** Translates the events of a session to what observers of plugins and outgoing webhooks get. */

import { isRunEnd, type SessionEvent } from '#agent/core/event.ts'
import type { Observer } from '#agent/core/hook.ts'

/** `data` has secrets masked, as the events have. */
export type Observed = { readonly hook: Observer; readonly data: Readonly<Record<string, unknown>> }

/** A session begins with its first event. */
export function observe(event: SessionEvent): readonly Observed[] {
  if (isRunEnd(event)) return observeEnd(event)
  switch (event.type) {
    case 'run.started':
      return event.seq === 1 ? [{ hook: 'on_session_start', data: {} }] : []
    case 'tool.completed': {
      const { call_id, tool, failed, duration_ms, preview } = event
      const data = { tool_name: tool, tool_call_id: call_id, failed, duration_ms, result: preview }
      return [{ hook: 'post_tool_call', data }]
    }
    case 'approval.request': {
      const { approval_id, call_id, tool, input, risk, reasons } = event
      const data = { approval_id, tool_name: tool, tool_call_id: call_id, args: input, risk, reasons }
      return [{ hook: 'pre_approval_request', data }]
    }
    case 'approval.responded':
      return [{ hook: 'post_approval_response', data: { approval_id: event.approval_id, decision: event.decision } }]
    case 'subagent.start': {
      const { subagent_id, goal, role, depth } = event
      return [{ hook: 'subagent_start', data: { subagent_id, goal, role, depth } }]
    }
    case 'subagent.complete': {
      const { subagent_id, status, summary, duration_ms, cost_usd } = event
      return [{ hook: 'subagent_stop', data: { subagent_id, status, summary, duration_ms, cost_usd } }]
    }
    default:
      return []
  }
}

function observeEnd({ type, output, exit_reason, usage }: Extract<SessionEvent, { exit_reason: string }>) {
  const status = type === 'run.completed' ? 'completed' : type === 'run.failed' ? 'failed' : 'cancelled'
  const answered: readonly Observed[] =
    type === 'run.completed' ? [{ hook: 'post_llm_call', data: { output, usage } }] : []
  return [...answered, { hook: 'on_session_end' as const, data: { status, exit_reason, usage } }]
}
