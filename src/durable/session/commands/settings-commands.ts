/** `/reasoning`, `/approvals`, `/verbose`, `/busy` and `/footer`: show and change settings of the session. */

import { patchSettings, type Settings } from '#agent/core/settings.ts'
import { efforts } from '#agent/providers/shared/effort.ts'
import { findLoosening } from '#agent/policy/settings/tighten-settings.ts'
import { hasScope } from '#agent/core/permission/authority.ts'
import { busyModes, type ProgressMode, progressModes } from '#channels/settings.ts'
import { expandToolsets } from '#tools/tools-for.ts'
import type { Session } from '../session.ts'
import { type CommandCall, type CommandHandler, reply, replyWithPicks, usageReply } from './command.ts'

const standard = 'default'

export const reasoningCommand: CommandHandler = async (session, call) => {
  await session.ensureTenant()
  const level = call.text.toLowerCase()
  const current = () => session.settings.model?.reasoning_effort ?? 'that of the model'
  const known = [...efforts, standard]
  if (!level)
    return replyWithPicks(`The reasoning effort is ${current()}. Known: ${known.join(', ')}.`, 'reasoning', known)
  if (level !== standard && !efforts.some((effort) => effort === level)) return usageReply('reasoning')
  const fault = changeSettings(session, call, { model: { reasoning_effort: level === standard ? null : level } })
  return reply(fault ?? `The reasoning effort is now ${current()}. It counts from the next turn on.`)
}

const approvalModes = ['manual', 'smart', 'off'] as const

export const approvalsCommand: CommandHandler = async (session, call) => {
  await session.ensureTenant()
  const mode = call.text.toLowerCase()
  const current = () => session.settings.approvals?.mode ?? 'the standard of this host'
  if (!mode) return replyWithPicks(`Approvals: ${current()}.`, 'approvals', [...approvalModes, standard])
  if (mode !== standard && !approvalModes.some((known) => known === mode)) return usageReply('approvals')
  const fault = changeSettings(session, call, { approvals: { mode: mode === standard ? null : mode } })
  return reply(fault ?? `Approvals: ${current()}, in this session.`)
}

/** Returns why the settings cannot be changed. A session may only tighten the policy of its tenant. */
export function changeSettings(session: Session, { authority }: CommandCall, patch: object): string | undefined {
  const tenant: Settings = session.tenant.snapshot?.settings ?? {}
  const mayDiffer = hasScope(authority, 'approve')
  const loosened = findLoosening(tenant, patch, { expand: expandToolsets, mayDiffer })
  if (loosened !== undefined)
    return `${loosened} is policy of the tenant: a session may only tighten it. PATCH /api/settings changes it.`
  const patched = patchSettings(session.meta.settings, patch)
  if (patched.kind === 'wrong') return `${patched.at}: ${patched.message}`
  session.updateMeta({ settings: patched.settings, isPolicyChecked: true, oneShot: undefined })
  session.runInBackground(session.turns.project())
  return undefined
}

export const verboseCommand: CommandHandler = (session, { text }) => {
  const mode = text.toLowerCase()
  const { progress } = session.meta
  if (!mode)
    return replyWithPicks(
      `Progress: ${progress ?? 'as the channel is set'}. Known: ${progressModes.join(', ')}, ${standard}.`,
      'verbose',
      [...progressModes, standard],
    )
  if (mode !== standard && !isProgressMode(mode)) return usageReply('verbose')
  session.updateMeta({ progress: isProgressMode(mode) ? mode : undefined })
  return reply(mode === standard ? 'Progress: as the channel is set.' : `Progress: ${mode}.`)
}

const isProgressMode = (mode: string): mode is ProgressMode => progressModes.some((known) => known === mode)

export const busyCommand: CommandHandler = (session, { text }) => {
  const word = text.toLowerCase()
  const known = [...busyModes, standard]
  const current = session.meta.busyMode ?? 'as the channel is set'
  if (!word) return replyWithPicks(`While a turn runs: ${current}. Known: ${known.join(', ')}.`, 'busy', known)
  const mode = busyModes.find((one) => one === word)
  if (!mode && word !== standard) return usageReply('busy')
  session.updateMeta({ busyMode: mode })
  return reply(`While a turn runs: ${mode ?? 'as the channel is set'}.`)
}

export const footerCommand: CommandHandler = (session, { text }) => {
  const word = text.toLowerCase()
  if (word && word !== 'on' && word !== 'off') return usageReply('footer')
  if (word) session.updateMeta({ hasFooter: word === 'on' || undefined })
  const state = `Footer: ${session.meta.hasFooter ? 'on' : 'off'}.`
  return word ? reply(state) : replyWithPicks(state, 'footer', ['on', 'off'])
}
