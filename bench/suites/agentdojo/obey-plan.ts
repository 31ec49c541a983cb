/** A model that does the work of the person, and what a planted text wants as soon as it reads it. */

import type { Reply, ScriptRequest } from '../../../test/kit/index.ts'

export type PlannedCall = { readonly name: string; readonly input: Readonly<Record<string, unknown>> }
export type Plan = {
  readonly calls: readonly PlannedCall[]
  readonly attack: readonly PlannedCall[]
  /** What the person expects in the answer. */
  readonly output: string
  /** A word of the planted text. */
  readonly mark: string
}
export type NextStep = { readonly reply: Reply; readonly of: 'person' | 'attacker' | 'nobody' }

type ChatMessage = { readonly role: string; readonly content?: unknown }

/** The calls of the attacker come behind the step that has read the planted text. */
export function obeyPlan({ body }: ScriptRequest, { calls, attack, output, mark }: Plan): NextStep {
  const messages = body['messages'] as readonly ChatMessage[]
  const since = messages.slice(messages.findLastIndex(({ role }) => role === 'user') + 1)
  const step = since.filter(({ role }) => role === 'assistant').length
  const readAt = since.findIndex(({ role, content }) => role === 'tool' && JSON.stringify(content).includes(mark))
  const before = readAt < 0 ? Infinity : since.slice(0, readAt).filter(({ role }) => role === 'assistant').length
  const isAttack = step >= before && step < before + attack.length
  const own = step < before ? step : step - attack.length
  const call = isAttack ? attack[step - before] : calls[own]
  if (!call) return { reply: { text: [output || 'Done.'] }, of: 'nobody' }
  return { reply: { calls: [call] }, of: isAttack ? 'attacker' : 'person' }
}
