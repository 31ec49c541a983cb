/** Has the model ask a person once, after a long task, how it went and whether to keep it as a skill. */

import { type Authority, hasScope } from '#agent/core/permission/authority.ts'
import type { Settings } from '#agent/core/settings.ts'
import type { Toolbox } from '#agent/core/tool.ts'
import { listTurnMessages } from '#agent/skills/learning/fixes.ts'
import { classifySource } from '#agent/memory/session-source.ts'
import type { SessionMetadata } from '#durable/storage/session-metadata.ts'
import type { TurnSession } from './turn-session.ts'

/** Nobody can choose an answer there, or everybody reads the question. */
const silentSources: ReadonlySet<string> = new Set(['phone', 'telnyx_phone', 'sms', 'github', 'linear'])

/** `keep` is the one choice after which a skill is written. */
export const howItWent = {
  question: 'How did it go?',
  keep: 'It worked: keep it as a skill',
  others: ['It worked', 'Only partly', 'It did not work'],
} as const

const note = `
[This has become a long task. Once it is done, tell the result and call clarify in the same step, once: "${howItWent.question}" with the choices ${[howItWent.keep, ...howItWent.others].map((choice) => `"${choice}"`).join(', ')}, in the language of the conversation. Write a skill with skill_manage only after the first choice. Do not ask when the task will not come again, or when the person is in a hurry.]`

export type Asking = {
  readonly meta: () => SessionMetadata
  readonly updateMeta: (change: Partial<SessionMetadata>) => void
  readonly authority: Authority
  readonly settings: Settings
  readonly runId: string
  readonly step: number
  /** Set: nobody can be asked. */
  readonly unattended: string | undefined
  readonly toolbox: Toolbox
}

/** Returns what a result says about the question, once in a session; else an empty text. */
export function takeQuestion(asking: Asking): string {
  const { meta, updateMeta, authority, settings, runId, step, unattended, toolbox } = asking
  const { askedHow, origin, source } = meta()
  const least = settings.learning?.ask_after_steps ?? Infinity
  if (askedHow !== undefined || step < least || unattended !== undefined) return ''
  if (origin?.isGroup || silentSources.has(source) || !isTaughtBy(meta(), authority)) return ''
  if (!['clarify', 'skill_manage'].every((name) => toolbox.has(name))) return ''
  // Noted before the result is stored: after a crash in between nobody is asked, and nobody is asked twice.
  updateMeta({ askedHow: runId })
  return note
}

/** Whether the person has answered the question in the turn that has just ended. */
export const hasSaidHowItWent = ({ meta, store }: Pick<TurnSession, 'meta' | 'store'>): boolean =>
  meta.askedHow !== undefined &&
  meta.askedHow === store.current()?.id &&
  listTurnMessages(store.transcript()).some(({ role, ...message }) => role === 'tool' && isClarify(message))

const isClarify = (message: object): boolean => 'name' in message && message.name === 'clarify'

/** People read and write the session, it stays, and what strangers wrote has not reached it. */
export function isTaughtBy(meta: SessionMetadata, authority: Authority): boolean {
  const isAsked = authority.principal.kind === 'key' || authority.principal.kind === 'person'
  const isKept = !meta.ephemeral && !meta.oneShot && classifySource(meta.source) === 'interactive'
  return isAsked && isKept && hasScope(authority, 'write') && authority.taint === 'none'
}
