/** Tests which events of a session observers hear of, and under which names. */

import { expect, it } from 'vitest'
import type { SessionEvent } from '#agent/core/event.ts'
import { observe } from '#agent/plugins/observed-events.ts'

const place = { seq: 1, at: '2026-11-27T00:00:00.000Z', run_id: 'run_1', session_id: 'ses_1' }
const usage = { input: 1 }
const end = { output: 'out', usage, exit_reason: 'answered', completed: true }

it.each([
  [{ type: 'run.started', input: 'a' }, true, ['on_session_start']],
  [{ type: 'run.started', input: 'a' }, false, []],
  [{ type: 'message.delta', delta: 'a' }, true, []],
  [
    { type: 'tool.completed', call_id: 'c', tool: 't', failed: false, duration_ms: 1, preview: 'p' },
    true,
    ['post_tool_call'],
  ],
  [
    { type: 'approval.request', approval_id: 'a', call_id: 'c', tool: 't', input: {}, risk: 'send', reasons: [] },
    true,
    ['pre_approval_request'],
  ],
  [{ type: 'approval.responded', approval_id: 'a', decision: 'deny' }, true, ['post_approval_response']],
  [{ type: 'subagent.start', subagent_id: 's', goal: 'g' }, true, ['subagent_start']],
  [{ type: 'subagent.complete', subagent_id: 's', status: 'completed', summary: 'x' }, true, ['subagent_stop']],
  [{ type: 'run.completed', ...end }, true, ['post_llm_call', 'on_session_end']],
  [{ type: 'run.failed', ...end }, true, ['on_session_end']],
  [{ type: 'run.cancelled', ...end }, true, ['on_session_end']],
] as const)('%j is told as hooks', (event, isFirst, hooks) => {
  expect(
    observe({ ...event, ...place, seq: isFirst ? 1 : 2 } as unknown as SessionEvent).map(({ hook }) => hook),
  ).toEqual(hooks)
})
