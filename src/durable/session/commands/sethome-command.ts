/** `/sethome`: makes a chat the home of its platform. */

import { type CommandHandler, reply, usageReply } from './command.ts'

export const sethomeCommand: CommandHandler = async (session, { authority, text }) => {
  const { origin } = session.meta
  if (!origin) return reply('Only a chat of a channel can be a home.')
  const word = text.toLowerCase()
  if (word && word !== 'off') return usageReply('sethome')
  const { chats } = session.tenantObject()
  if (word === 'off') {
    await chats.setHome(authority, origin.platform, undefined)
    return reply(`${origin.platform} has no home any more.`)
  }
  const { person: _person, ...chat } = origin
  await chats.setHome(authority, origin.platform, { sessionId: session.sessionId, chat })
  return reply(
    `This chat is now the home of ${origin.platform}: results of jobs that go to "${origin.platform}" come here.`,
  )
}
