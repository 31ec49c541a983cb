/** `/status`, `/usage`, `/model` and `/start`: tell about the session, and choose its model. */

import { isKnownModel, listNearestModels, listUsableModels } from '#agent/routing/known-model.ts'
import { resolveModelId, type Sources } from '#agent/routing/route.ts'
import type { Authority } from '#agent/core/permission/authority.ts'
import { combineAuthorities } from '#agent/core/permission/contribution.ts'
import { othersLimit } from '#agent/core/permission/lost-rights.ts'
import { narrowByRoles } from '#agent/core/permission/roles.ts'
import { joinConversation } from '../core/contributions.ts'
import { describeGoalState } from '#agent/schedule/goal/goal-text.ts'
import { modelId } from '#agent/core/request/turn-settings.ts'
import { createSources } from '#durable/models/session-routes.ts'
import { contextTokens } from '#durable/turn/context-tokens.ts'
import { sessionUsage } from '#durable/storage/session-record.ts'
import { runView } from '../views/api-views.ts'
import { getStatus } from '#durable/turn/pending-requests.ts'
import type { Session } from '../session.ts'
import { describeTurns, describeUsage } from './describe.ts'
import { type CommandHandler, type CommandReply, pageOf, reply } from './command.ts'

/** Messengers send it when a person opens the chat. */
export const startCommand: CommandHandler = () => reply('')

export const statusCommand: CommandHandler = async (session, { authority }) => {
  await session.ensureTenant()
  return reply([describeStatus(session), ...describeLimit(session, authority)].join('\n'))
}

/** Informs the sender that others limit the next turn. */
function describeLimit(session: Session, authority: Authority): readonly string[] {
  const own = narrowByRoles(authority, session.tenant.access.roles)
  const isLimited = joinConversation(session, combineAuthorities([own])).withoutOthers !== undefined
  return isLimited ? [`Limited: ${othersLimit}`] : []
}

function describeStatus(session: Session): string {
  const { meta, store, sessionId, toolRuntime } = session
  const turn = store.current()
  const activity = turn && store.hasOpenTurn ? ` (${runView(turn, sessionId, []).activity.doing})` : ''
  const queued = store.queued().length
  const processes = toolRuntime.processes.list().filter(({ state }) => state.at === 'running').length
  const lines = [
    `Session: ${sessionId}`,
    `Title: ${meta.title ?? 'none'}`,
    `Status: ${getStatus(session)}${activity}`,
    `Model: ${currentModel(session)}`,
    `Context: about ${contextTokens(session)} tokens`,
    ...(queued ? [`Queued: ${describeTurns(queued)}`] : []),
    ...(processes ? [`Background processes: ${processes}`] : []),
    ...(meta.goal ? [`Goal: ${describeGoalState(meta.goal)}`] : []),
    ...(meta.loop ? [`Loop: ${meta.loop.state.at}, sent ${meta.loop.ticks} times`] : []),
    ...(meta.heartbeat ? [`Heartbeat: ${meta.heartbeat.state.at}, sent ${meta.heartbeat.ticks} times`] : []),
  ]
  return lines.join('\n')
}

export const usageCommand: CommandHandler = ({ meta, store }) => {
  const turn = store.current()
  const last = turn ? [`Last turn: ${describeUsage(turn.usage)}`] : []
  return reply([`Session: ${describeUsage(sessionUsage(meta, store))}`, ...last].join('\n'))
}

export const modelCommand: CommandHandler = async (session, { words: [name, ...more] }) => {
  await session.ensureTenant()
  if (name === undefined || (name === 'page' && more.length === 1)) return showModels(session, Number(more[0] ?? 1))
  if (more.length) return reply(unknownModel(session, [name, ...more].join(' ')))
  if (name !== 'default' && !isUsable(session, name)) return reply(unknownModel(session, name))
  session.updateMeta({ model: name === 'default' ? null : name, oneShot: undefined })
  session.runInBackground(session.turns.project())
  return reply(`The model is now ${currentModel(session)}.`)
}

/** Unknown pages have no models. */
function showModels(session: Session, page: number): CommandReply {
  const names = ['default', ...listUsableModels(sourcesOf(session))]
  const picks = names.map((name) => ({ label: name, command: `/model ${name}` }))
  const shown = pageOf(picks, page, '/model page')
  return { kind: 'text', text: `The model is ${currentModel(session)}.`, ...(shown.length > 1 && { picks: shown }) }
}

/** The model of the next turn. */
const currentModel = (session: Session): string =>
  session.meta.model ?? session.promptModel(undefined)?.id ?? 'not configured'

const isUsable = (session: Session, name: string): boolean =>
  modelId.safeParse(name).success &&
  session.promptModel(name)?.id === resolveModelId(name, session.settings) &&
  isKnownModel(name, sourcesOf(session))

const sourcesOf = (session: Session): Sources => createSources(session, session.outside.env)

function unknownModel(session: Session, name: string): string {
  const list = session.meta.origin ? 'the page of this server' : 'GET /v1/models'
  const [nearest] = listNearestModels(name, sourcesOf(session))
  const advice = nearest === undefined ? '' : ` Did you mean ${nearest}?`
  return `${name} is not a model that can be used here.${advice} Write it as provider/model; ${list} lists them.`
}
