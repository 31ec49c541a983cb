/** `/context`, `/insights`, `/whoami`, `/version`, `/agents` and `/skills`: show what goes on and what there is. */

import { historyDb } from '#db/shards/sharded-database.ts'
import { apiVersion } from '#agent/public-api/version.ts'
import { type CommandSpec, commandTable } from '#agent/policy/slash-command/command-table.ts'
import { narrowByRoles } from '#agent/core/permission/roles.ts'
import { reportUsage } from '#db/usage-report.ts'
import { clock } from '#durable/platform/clock.ts'
import { readContext } from '../views/read-context.ts'
import { hasScope } from '#agent/core/permission/authority.ts'
import type { Session } from '../session.ts'
import { type CommandCall, type CommandHandler, type CommandReply, reply, usageReply } from './command.ts'
import { changeSettings } from './settings-commands.ts'
import { mayUse } from './may-use.ts'

const maxListed = 20
const dayMs = 86_400_000
const maxDays = 90

export const contextCommand: CommandHandler = async (session, { authority }) => {
  const { model, window, tokens, share, prompt, tools, messages } = await readContext(session, authority)
  return reply(
    [
      `Context: about ${tokens} of ${window} tokens (${Math.round(share * 100)} %), model ${model ?? 'not configured'}`,
      `Prompt: ${prompt.tokens}`,
      `Tools: ${tools.tokens} (${tools.count})`,
      `Messages: ${messages.tokens} (${messages.count})`,
    ].join('\n'),
  )
}

export const insightsCommand: CommandHandler = async (session, { text }) => {
  const days = text ? Number(text) : 7
  if (!Number.isInteger(days) || days < 1 || days > maxDays) return usageReply('insights')
  const now = clock.now()
  const span = { group: 'model', from: now - days * dayMs, to: now + dayMs, limit: maxListed } as const
  const { data, totals } = await reportUsage(historyDb(session.outside.env, session.tenantId), session.tenantId, span)
  const lines = data.map(({ key, ...sums }) => `- ${key || 'unknown'}: ${describeSums(sums)}`)
  return reply([`The last ${days === 1 ? 'day' : `${days} days`}: ${describeSums(totals)}`, ...lines].join('\n'))
}

type Sums = { readonly turns: number; readonly input: number; readonly output: number; readonly cost_usd: number }

const describeSums = ({ turns, input, output, cost_usd: cost }: Sums): string =>
  `${turns} turns, ${input} tokens in, ${output} out, ${cost.toFixed(4)} USD`

export const whoamiCommand: CommandHandler = (session, call) => {
  const { principal } = call.authority
  const { scopes } = narrowByRoles(call.authority, session.tenant.access.roles)
  const held = `Scopes: ${scopes.join(', ') || 'none'}`
  if (principal.kind !== 'person') return reply(`You are the ${principal.kind} ${principal.id}.\n${held}`)
  const table: readonly CommandSpec[] = commandTable
  const commands = table.filter((command) => !command.isHidden && mayUse(session, command, call))
  return reply(
    [
      `You are ${principal.person} on ${session.meta.origin?.platform ?? 'this platform'}${principal.isAdmin ? ', an admin of this channel' : ''}.`,
      held,
      `Commands: ${commands.map(({ name }) => `/${name}`).join(' ')}`,
    ].join('\n'),
  )
}

export const versionCommand: CommandHandler = () => reply(`Talaria ${apiVersion}`)

export const agentsCommand: CommandHandler = (session, call) => {
  const { subagents, toolRuntime, settings } = session
  const [word] = call.words
  if (word === 'pause' || word === 'resume') return pauseAgents(session, call, word === 'pause')
  const children = subagents.list().filter(({ status }) => status === 'queued' || status === 'running')
  const processes = toolRuntime.processes.list().filter(({ state }) => state.at === 'running')
  const lines = [
    ...children.map(({ goal, status, activity, seconds }) =>
      [`- subagent, ${status}, ${Math.round(seconds)} s: ${shorten(goal)}`, activity].filter(Boolean).join(' – '),
    ),
    ...processes.map(({ id, command }) => `- process ${id}: ${shorten(command)}`),
  ]
  if (settings.delegation?.paused) lines.push('The start of subagents is paused. /agents resume ends that.')
  return reply(lines.length ? lines.slice(0, maxListed).join('\n') : 'No subagent and no background process runs.')
}

function pauseAgents(session: Session, call: CommandCall, paused: boolean): CommandReply {
  if (!hasScope(call.authority, 'write')) return reply('That needs the scope write.')
  const refused = changeSettings(session, call, { delegation: { paused } })
  return reply(refused ?? (paused ? 'No subagent is started until /agents resume.' : 'Subagents are started again.'))
}

export const skillsCommand: CommandHandler = async (session, { text }) => {
  const skills = await session.toolRuntime.skills.list(session.ownAuthority)
  const words = text.toLowerCase()
  const shown = skills.filter(
    ({ archivedAt, head }) =>
      archivedAt === undefined && `${head.name} ${head.description}`.toLowerCase().includes(words),
  )
  if (!shown.length) return reply('There is no such skill.')
  const lines = shown.slice(0, maxListed).map(({ head }) => `/${head.name} – ${shorten(head.description)}`)
  const more = shown.length > maxListed ? [`… and ${shown.length - maxListed} more. /skills WORDS finds them.`] : []
  return reply([...lines, ...more].join('\n'))
}

const maxShownChars = 120
const shorten = (text: string): string => {
  const line = text.replace(/\s+/g, ' ').trim()
  return line.length > maxShownChars ? `${line.slice(0, maxShownChars)}…` : line
}
