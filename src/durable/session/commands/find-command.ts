/** Finds the command that a message names, checks who may use it, and answers unknown names with a hint. */

import {
  type CommandName,
  type CommandSpec,
  commandSpellings,
  findCommand,
} from '#agent/policy/slash-command/command-table.ts'
import { findNearestName } from '#agent/policy/slash-command/nearest-name.ts'
import { isPathName } from '#agent/policy/slash-command/parse-command.ts'
import type { Session } from '../session.ts'
import { type CommandCall, type CommandFallback, type CommandHandler, type CommandReply, reply } from './command.ts'
import { mayUse } from './may-use.ts'

type Answer = CommandReply | undefined

/** Undefined when the message is no command after all, but begins with a path. */
export type Answerer = () => Answer | Promise<Answer>

/** Loads the code of the command. The answer itself then begins without a wait. */
export async function prepareAnswer(session: Session, call: CommandCall): Promise<Answerer> {
  const { commandHandlers, commandFallbacks } = await import('./run-commands.ts')
  const command = findCommand(call.name)
  if (!command) return () => answerUnknown(session, call, commandFallbacks)
  return () => answerKnown(session, call, { command, run: commandHandlers[command.name] })
}

type Found = {
  readonly command: CommandSpec & { readonly name: CommandName }
  readonly run: CommandHandler
}

function answerKnown(session: Session, call: CommandCall, { command, run }: Found): Answer | Promise<Answer> {
  if (!mayUse(session, command, call)) return refuse(session, command, call)
  if (command.busy === 'refuse' && session.store.hasOpenTurn)
    return reply('A turn is running. Send /stop first, or wait.')
  return run(session, call)
}

async function answerUnknown(
  session: Session,
  call: CommandCall,
  fallbacks: readonly CommandFallback[],
): Promise<Answer> {
  for (const fallback of fallbacks) {
    const skill = {
      name: call.name,
      usage: '',
      description: '',
      group: 'work',
      scope: fallback.scope,
      busy: 'dispatch',
    } as const
    const found = mayUse(session, skill, call) ? await fallback.find(session, call) : undefined
    if (found) return found
  }
  return isPathName(call.name) ? undefined : reply(await renderUnknown(session, call, fallbacks))
}

function refuse({ meta }: Session, { name, scope, isForChats }: CommandSpec, { authority }: CommandCall): CommandReply {
  if (isForChats && !meta.origin) return reply(`/${name} has a meaning in the chats of a channel alone.`)
  const { principal } = authority
  if (principal.kind !== 'person') return reply(`You may not use /${name}: it needs the scope \`${scope}\`.`)
  return reply(
    `You may not use /${name}: it is for admins here. The owner of this bot makes you one by adding your id, ${principal.person}, to the setting admins of the channel.`,
  )
}

async function renderUnknown(
  session: Session,
  { name }: CommandCall,
  fallbacks: readonly CommandFallback[],
): Promise<string> {
  const more = await Promise.all(fallbacks.map(({ names }) => names(session)))
  const nearest = findNearestName(name, [...commandSpellings(), ...more.flat()])
  const hint = nearest === undefined ? '' : ` Did you mean /${nearest}?`
  return `There is no command /${name}.${hint} /help lists all. To send this as a message, begin it with //.`
}
