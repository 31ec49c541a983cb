/** Reads the answers of hooks, and combines those of several plugins to one decision. */

import type { HookRuling } from '#agent/core/hook.ts'

export type HookAnswer =
  | { readonly plugin: string; readonly action: 'none' }
  | { readonly plugin: string; readonly action: 'block' | 'approve'; readonly reason: string }
  | { readonly plugin: string; readonly action: 'modify'; readonly args: Readonly<Record<string, unknown>> }

const maxReasonChars = 500

/** Undefined: the answer has none of the known shapes, which counts as a failure of the hook. */
export function readHookAnswer(plugin: string, raw: unknown): HookAnswer | undefined {
  if (raw === undefined || raw === null) return { plugin, action: 'none' }
  if (typeof raw !== 'object' || Array.isArray(raw)) return undefined
  const { action, message, args } = raw as Readonly<Record<string, unknown>>
  if (action === 'block' || action === 'approve')
    return { plugin, action, reason: typeof message === 'string' ? message.slice(0, maxReasonChars) : '' }
  if (action !== 'modify' || typeof args !== 'object' || args === null || Array.isArray(args)) return undefined
  return { plugin, action, args: args as Readonly<Record<string, unknown>> }
}

export type CombinedAnswer = {
  readonly ruling: HookRuling
  /** The arguments with all changes. Absent: no hook changed them. */
  readonly input?: unknown
}

/**
 * Combines the answers about one call: a block wins over an approval. Changed arguments are merged by the names of the
 * plugins, and what comes out is judged as if the model had written it.
 */
export function combineAnswers(answers: readonly HookAnswer[], input: unknown): CombinedAnswer {
  const sorted = answers
    .filter(({ action }) => action !== 'none')
    .toSorted((a, b) => (a.plugin < b.plugin ? -1 : Number(a.plugin > b.plugin)))
  const strictest =
    sorted.find((answer) => answer.action === 'block') ?? sorted.find((answer) => answer.action === 'approve')
  const decided = strictest && strictest.action !== 'none' && strictest.action !== 'modify' ? strictest : undefined
  const ruling: HookRuling = {
    by: [...new Set(sorted.map(({ plugin }) => plugin))],
    ...(decided && { action: decided.action, reason: renderReason(decided.plugin, decided.reason) }),
  }
  const changes = sorted.flatMap((answer) => (answer.action === 'modify' ? [answer.args] : []))
  if (decided?.action === 'block' || !changes.length) return { ruling }
  return { ruling, input: Object.assign({}, input, ...changes) as unknown }
}

const renderReason = (plugin: string, reason: string): string =>
  `the plugin ${plugin} ${reason ? `says: ${reason}` : 'asks for it'}`

/** A required hook that fails blocks. */
export const failClosed = (plugin: string): HookAnswer => ({
  plugin,
  action: 'block',
  reason: 'its check of this call failed, and without it the call may not run',
})
