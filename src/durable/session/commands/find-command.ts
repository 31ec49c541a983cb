/** Finds the command that a message names, checks who may use it, and answers unknown names with a hint. */

import { hasScope } from '../../../agent/model/permission/authority.ts'
import { narrowByRoles } from '../../../agent/model/permission/roles.ts'
import { findNearestName } from '../../../agent/policy/slash-command/nearest-name.ts'
import { isPathName } from '../../../agent/policy/slash-command/parse-command.ts'
import type { Session } from '../session.ts'
import { type CommandCall, type CommandReply, reply, type SessionCommand } from './command.ts'
import { commandFallbacks, sessionCommands } from './commands.ts'

const helpCommand: SessionCommand = {
  name: 'help',
  aliases: ['commands'],
  usage: '[COMMAND]',
  description: 'Lists the commands, or explains one.',
  scope: 'chat',
  run: (session, call) => reply(renderHelp(session, call)),
}

const allCommands: readonly SessionCommand[] = [helpCommand, ...sessionCommands]
const byName = new Map(
  allCommands.flatMap((command) => [command.name, ...(command.aliases ?? [])].map((name) => [name, command] as const)),
)

type Answer = CommandReply | undefined

/** Undefined when the message is no command after all, but begins with a path. */
export function answerCommand(session: Session, call: CommandCall): Answer | Promise<Answer> {
  const command = byName.get(call.name)
  if (!command) return answerUnknown(session, call)
  return mayUse(session, command, call) ? command.run(session, call) : refuse(command)
}

async function answerUnknown(session: Session, call: CommandCall): Promise<Answer> {
  for (const fallback of commandFallbacks) {
    const found = mayUse(session, fallback, call) ? await fallback.find(session, call) : undefined
    if (found) return found
  }
  return isPathName(call.name) ? undefined : reply(await renderUnknown(session, call))
}

function mayUse(
  { tenant, meta }: Session,
  { scope }: Pick<SessionCommand, 'scope'>,
  { authority }: Pick<CommandCall, 'authority'>,
): boolean {
  const held = narrowByRoles(authority, tenant.access.roles)
  const { principal } = held
  if (principal.kind !== 'person') return hasScope(held, scope)
  if (!hasScope(held, 'chat')) return false
  if (scope === 'chat' || scope === 'read') return true
  return principal.isAdmin || (scope === 'write' && meta.origin?.isGroup !== true)
}

const refuse = ({ name, scope }: SessionCommand): CommandReply =>
  reply(`You may not use /${name}: it needs the scope \`${scope}\`, or in a chat an admin.`)

async function renderUnknown(session: Session, { name }: CommandCall): Promise<string> {
  const more = await Promise.all(commandFallbacks.map(({ names }) => names(session)))
  const nearest = findNearestName(name, [...byName.keys(), ...more.flat()])
  const hint = nearest === undefined ? '' : ` Did you mean /${nearest}?`
  return `There is no command /${name}.${hint} /help lists all. To send this as a message, begin it with //.`
}

function renderHelp(session: Session, { words: [asked], authority }: CommandCall): string {
  const one = asked === undefined ? undefined : byName.get(asked.replace(/^\//, '').toLowerCase())
  if (one) return renderCommand(one)
  const usable = allCommands.filter((command) => mayUse(session, command, { authority }))
  return usable.map(renderLine).join('\n')
}

const renderLine = ({ name, usage, description }: SessionCommand): string =>
  `${`/${name} ${usage}`.trim()} – ${description}`

const renderCommand = (command: SessionCommand): string => {
  const { aliases = [] } = command
  const also = aliases.length ? `\nAlso: ${aliases.map((name) => `/${name}`).join(', ')}` : ''
  return `${renderLine(command)}${also}`
}
