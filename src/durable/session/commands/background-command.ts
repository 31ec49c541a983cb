/** `/background`: gives a prompt to a session of its own, whose result comes back as one message. */

import type { Session } from '../session.ts'
import { type CommandCall, type CommandReply, reply, type CommandHandler, usageReply } from './command.ts'

export const backgroundCommand: CommandHandler = (session, call) =>
  call.text ? startBackground(session, call) : usageReply('background')

/** Also the first message of a session: its result begins the conversation. */
async function startBackground(session: Session, { text, runId, authority }: CommandCall): Promise<CommandReply> {
  await session.ensureTenant()
  const task = { goal: text, role: 'leaf' } as const
  const spawned = await session.subagents.spawn({ callId: runId, tasks: [task], isBackground: true, authority })
  if (typeof spawned === 'string') return reply(spawned)
  return reply(`Started in the background (${spawned.delegationId}). The result comes back as a message.`)
}
