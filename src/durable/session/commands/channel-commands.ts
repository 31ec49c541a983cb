/** `/platform`, `/sethome`, `/voice` and `/pause`: what concerns a chat of a channel alone. */

import { actorOf } from '#agent/core/permission/audit.ts'
import type { ChatOrigin } from '#agent/core/delivery.ts'
import type { ChannelCapabilities } from '#channels/channel.ts'
import { createConnections } from '#db/channel-connections.ts'
import { loadChannel } from '#channels/channels.ts'
import { type VoiceMode, voiceModes } from '#channels/settings.ts'
import { keepSocket } from '#durable/channels/keep-socket.ts'
import { clock } from '#durable/platform/clock.ts'
import { forgetConnection, loadConnection } from '#durable/tenant/channels/connection.ts'
import type { Session } from '../session.ts'
import { type CommandHandler, reply, replyWithPicks, usageReply } from './command.ts'

const removed = reply('The channel of this chat was removed.')

export const platformCommand: CommandHandler = async (session) => {
  const { origin } = session.meta
  const connection = await getConnection(session, origin)
  if (!origin || !connection) return removed
  if ('refused' in connection) return reply(`The channel of this chat cannot be used: ${connection.refused}`)
  const { id, status, account, channel } = connection
  const target = [origin.platform, origin.chat, origin.thread].filter((part) => part !== undefined).join(':')
  return reply(
    [
      `Platform: ${origin.platform}${account ? `, as ${account.name}` : ''}`,
      `Connection: ${id}, ${status}`,
      `Chat: ${target}, ${describeChat(origin)}`,
      `It has: ${describeAbilities(channel.capabilities)}`,
    ].join('\n'),
  )
}

async function getConnection({ outside, tenantId }: Session, origin: ChatOrigin | undefined) {
  const connection = origin && (await loadConnection(outside.env, origin.connection, clock.now()))
  return connection && 'tenantId' in connection && connection.tenantId !== tenantId ? undefined : connection
}

const describeChat = ({ isGroup, person }: ChatOrigin): string =>
  isGroup ? `a group${person === undefined ? '' : ', with your own session'}` : 'a direct chat'

function describeAbilities({ edit, typing, buttons, threads, files }: ChannelCapabilities): string {
  const has = { text: true, edits: edit, typing, buttons, threads }
  const names = Object.entries(has).flatMap(([name, value]) => (value ? [name] : []))
  return [...names, ...(files ? [`files up to ${files.maxBytes / 1_000_000} MB`] : [])].join(', ')
}

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

const described: Readonly<Record<VoiceMode, string>> = {
  off: 'answers are text',
  on: 'answers to voice messages are also spoken',
  tts: 'all answers are also spoken',
}

export const voiceCommand: CommandHandler = async (session, { text }) => {
  await session.ensureTenant()
  const word = text.toLowerCase()
  if (!word) return replyWithPicks(describeMode(session.meta.voice ?? 'off'), 'voice', voiceModes)
  const mode = voiceModes.find((known) => known === word)
  if (!mode) return usageReply('voice')
  const obstacle = mode === 'off' ? undefined : await findObstacle(session)
  if (obstacle !== undefined) return reply(obstacle)
  session.updateMeta({ voice: mode === 'off' ? undefined : mode })
  return reply(describeMode(mode))
}

const describeMode = (mode: VoiceMode): string => `Voice: ${mode} – ${described[mode]}.`

async function findObstacle({ meta, settings, toolRuntime }: Session): Promise<string | undefined> {
  const channel = meta.origin && (await loadChannel(meta.origin.platform))
  if (!channel?.capabilities.files) return 'This platform takes no voice messages.'
  const canSpeak = toolRuntime.toolbox(settings, {}).has('text_to_speech')
  return canSpeak ? undefined : 'Speech is not configured here. GET /api/tools says what text_to_speech needs.'
}

export const pauseCommand: CommandHandler = async (session, { authority, text }) => {
  const word = text.toLowerCase()
  if (word && word !== 'off') return usageReply('pause')
  const { outside, tenantId, meta } = session
  const status = word === 'off' ? 'active' : 'paused'
  const connections = createConnections(outside.env.DB, tenantId, actorOf(authority))
  const changed = await connections.update(meta.origin?.connection ?? '', { status }, clock.now())
  if (!changed) return removed
  forgetConnection(changed.id)
  await keepSocket(outside.env, changed)
  return reply(
    status === 'active'
      ? `${changed.name} answers again.`
      : `${changed.name} is paused: messages are not answered until an admin sends /pause off. Turns that run go on.`,
  )
}
