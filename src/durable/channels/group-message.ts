/**
 * Decides where a message of a group belongs: whether it is meant for the agent without a mention, and in which thread
 * its session is.
 */

import { findCommand } from '#agent/policy/slash-command/command-table.ts'
import { isPathName, parseCommand } from '#agent/policy/slash-command/parse-command.ts'
import type { Authority } from '#agent/core/permission/authority.ts'
import type { ChatAddress, InboundEvent } from '#channels/channel.ts'
import type { LoadedConnection } from '#durable/tenant/channels/connection.ts'
import { tenantStub } from '#durable/tenant/tenant-stub.ts'
import { originOf, sessionIdOf } from './gateway.ts'

/** A message, an edit of one, or a native command. */
export type TextEvent = Extract<InboundEvent, { text: string }>

type Sent = { readonly event: TextEvent; readonly person: string; readonly authority: Authority }

/**
 * Whether the agent expects an unaddressed message: it continues a thread in which the agent takes part, or the person
 * answers a question of the agent.
 */
export async function isExpected(env: Env, connection: LoadedConnection, sent: Sent): Promise<boolean> {
  const { event, person, authority } = sent
  const { channel, tenantId, settings } = connection
  const isReply = channel.capabilities.answersInThreads === true && event.address.thread !== undefined
  if (!isReply && !canAnswer(event)) return false
  const sessionId = await sessionIdOf(originOf(connection, event, person), settings)
  if (!isReply) return tenantStub(env, tenantId).pending.hasQuestionFor(authority, sessionId, person)
  return (await env.SESSION.getByName(`t/${tenantId}/s/${sessionId}`).info.get(authority)) !== undefined
}

/** A text that names no other person. */
const canAnswer = (event: TextEvent): boolean =>
  event.kind === 'message' && !event.media.length && !event.mentions.length && !event.quote

/** Whether an unaddressed message is context for later turns: commands and edits are not. */
export function isContext({ kind, text }: TextEvent): boolean {
  const command = parseCommand(text)
  return kind === 'message' && (!command || isPathName(command.name))
}

/**
 * Returns the address of a message. On platforms whose answers in a group begin a thread, a message that begins a turn
 * belongs to that thread. A command about a turn, and the answer to a question, belong to the session that has it.
 */
export function placeInThread(
  { channel }: Pick<LoadedConnection, 'channel'>,
  { event, text, isAnswer }: { readonly event: TextEvent; readonly text: string; readonly isAnswer: boolean },
): ChatAddress {
  const { address, isGroup } = event
  const begins = isGroup && address.thread === undefined && event.kind !== 'command' && !isAnswer
  if (!channel.capabilities.answersInThreads || !begins || isTurnCommand(text)) return address
  return { ...address, thread: event.messageId }
}

const isTurnCommand = (text: string): boolean => findCommand(parseCommand(text)?.name ?? '')?.group === 'turn'
