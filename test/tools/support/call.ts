/** Calls a tool as the dispatcher does and parses its result. */

import type { CallContext, Services, Tool, ToolResult } from '#agent/core/tool.ts'
import { ownerAuthority } from '../../support/authority.ts'

const context = {
  sessionId: 'now',
  authority: ownerAuthority(),
  callId: 'call-1',
  signal: new AbortController().signal,
  clock: { now: () => 0 },
}

// oxlint-disable-next-line typescript/no-explicit-any -- answers are JSON, tests look into them
export type Answer = { failed: boolean; result: Record<string, any>; raw: ToolResult }

export async function call(
  tool: Tool,
  input: unknown,
  services: Partial<Services> = {},
  more: Partial<CallContext> = {},
): Promise<Answer> {
  const raw = await tool.run(input, { ...context, callKey: more.callId ?? context.callId, ...more }, services)
  if ('later' in raw) return { failed: false, result: { later: raw.later }, raw }
  const [part] = raw.content
  return { failed: raw.failed, result: JSON.parse(part?.type === 'text' ? part.text : '{}'), raw }
}
