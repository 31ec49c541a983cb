/**
 * Accepts events of a messaging platform: checks who may write, and submits messages to the session of the chat. Resolves
 * once the result is durable; rejects when the platform must deliver the events again.
 */

import { historyDb } from '#db/shards/sharded-database.ts'
import { log } from '#agent/core/log.ts'
import type { MediaReference } from '#agent/core/media/media-reference.ts'
import { type Authority, chatName, hasScope, systemAuthority } from '#agent/core/permission/authority.ts'
import type { BotAccount, ChatAddress, InboundEvent, MessageContent, PressResult } from '#channels/channel.ts'
import { classifyEvent, type EventClass, stripMention } from '#channels/classify-event.ts'
import { withMediaNames } from '#channels/text/describe-media.ts'
import { renderContextLine } from '#channels/text/quote-person.ts'
import { renderQuote } from '#channels/text/render-quote.ts'
import { createConnections } from '#db/channel-connections.ts'
import { newRunId } from '#durable/platform/ids.ts'
import { hashParts } from '#durable/tenant/jobs/chat-session.ts'
import { fetchTenantSnapshot, type TenantSnapshot } from '#durable/tenant/tenant-snapshot.ts'
import type { FileOwner } from './carried-files.ts'
import { forgetConnection, type LoadedConnection } from '#durable/tenant/channels/connection.ts'
import {
  createAuthority,
  listCommands,
  groupName,
  getOrigin,
  getPerson,
  resolveSender,
  getSessionId,
} from './gateway.ts'
import { ownerOfButton } from './pending-request-message.ts'
import { findCommand } from '#agent/policy/slash-command/command-table.ts'
import { isPathName, parseCommand } from '#agent/policy/slash-command/parse-command.ts'
import { channelSettings, type ChannelSettings } from '#channels/settings.ts'
import { changeChannelSettings } from '#db/change-channel-settings.ts'
import { hasSessionOfChat } from '#db/session-directory.ts'
import { createTenantDb } from '#db/tenant-db.ts'
import { sessionStub, tenantStub } from '#durable/platform/addresses.ts'

export type AcceptContext = {
  readonly env: Env
  readonly requestId?: string
  readonly runInBackground: (work: Promise<unknown>) => void
  /** Shows the result of a press within the response. Absent: it is sent as a message. */
  readonly settle?: (result: PressResult) => void
}

type PressEvent = Extract<InboundEvent, { kind: 'press' }>

/** Of a session that is being deleted. The next delivery begins a new one. */
export class SessionUnavailable extends Error {
  override readonly name = 'SessionUnavailable'
}

/**
 * In order, and none after a failed one: the platform repeats the request, and events that were accepted count once.
 * Returns how many were not ignored.
 */
export async function acceptEvents(
  context: AcceptContext,
  connection: LoadedConnection,
  events: readonly InboundEvent[],
): Promise<number> {
  let accepted = 0
  for (const event of events) if (await acceptEvent(context, connection, event)) accepted++
  return accepted
}

/** Returns false for an event that is ignored. */
async function acceptEvent(
  context: AcceptContext,
  connection: LoadedConnection,
  received: InboundEvent,
): Promise<boolean> {
  const { settings, account } = connection
  const named = classifyEvent(received, settings, account)
  const event = await resolveSender(context.env, connection, received, named === 'ignore')
  if (event.kind === 'lifecycle' && event.change !== 'invited') {
    await acceptLifecycle(context.env, connection, event)
    return true
  }
  // The settings may name the sender by another id.
  const known = named === 'ignore' ? classifyEvent(event, settings, account) : named
  const isPaired = known === 'ignore' && (await checkPairing(context, connection, event))
  const first = isPaired ? 'accept' : known
  if (first === 'ignore') return false
  if (event.kind === 'lifecycle') return joinChat(connection, event.address)
  if (event.kind !== 'press') return acceptText(context, connection, { event, first })
  await acceptPress(context, connection, event)
  return true
}

/** Rejects while the platform does not answer, so that the invitation comes again. */
async function joinChat(connection: LoadedConnection, address: ChatAddress): Promise<boolean> {
  const joined = await connection.channel.join?.(connection, address)
  if (joined?.kind === 'retry' || joined?.kind === 'ambiguous')
    throw new Error(`An invitation could not be accepted: ${joined.detail}`)
  return true
}

type Classified = { readonly event: TextEvent; readonly first: EventClass }

async function acceptText(
  context: AcceptContext,
  connection: LoadedConnection,
  { event, first }: Classified,
): Promise<boolean> {
  const { settings } = connection
  // Our own account matters only where the message must mention it.
  const isAccountNeeded = first === 'unaddressed' && !connection.account
  const account = isAccountNeeded ? await fetchAccount(context.env, connection) : connection.account
  const isUnaddressed = first === 'unaddressed' && classifyEvent(event, settings, account) === 'unaddressed'
  const text = stripMention(event.text, account)
  const sender = await findSender(context, connection, event)
  // Their role was deleted: nobody answers, as if they were not known.
  if (!hasScope(sender.authority, 'chat')) return false
  const isAnswer = isUnaddressed && (await isExpected(context.env, connection, { event, ...sender }))
  if (isUnaddressed && !isAnswer) {
    await storeLine(context, connection, { event, sender, text })
    return true
  }
  const address = placeInThread(connection, { event, text, isAnswer })
  await submitMessage(context, connection, { event: { ...event, address }, sender, text })
  return true
}

type ActingPerson = { readonly person: string; readonly authority: Authority; readonly tenant: TenantSnapshot }
type Accepted = { readonly event: TextEvent; readonly sender: ActingPerson; readonly text: string }

/** A message of others to a person acts for them without the rights that the settings give. */
const noRights: Partial<ChannelSettings> = { admins: [], jobs: 'nobody', search_scope: 'chat' }

/** The person behind the sender, and for whom the message acts. */
async function findSender(
  { env, requestId }: AcceptContext,
  connection: LoadedConnection,
  event: InboundEvent,
): Promise<ActingPerson> {
  const person = getPerson(connection, event.sender)
  const tenant = await fetchTenantSnapshot(env, connection.tenantId)
  const { chat, chatKey = chat } = event.address
  const acting = { person, chat: chatKey, tenant, requestId }
  const settings = event.isForeign ? { ...connection.settings, ...noRights } : connection.settings
  return { person, tenant, authority: createAuthority({ ...connection, settings }, acting) }
}

/** Context for later turns of the group, whoever begins them. */
async function storeLine(
  { env }: AcceptContext,
  connection: LoadedConnection,
  { event, sender, text }: Accepted,
): Promise<void> {
  if (!isContext(event)) return
  const { chats } = tenantStub(env, connection.tenantId)
  const line = renderContextLine(event.sender.name, withMediaNames(text, 'media' in event ? event.media : []))
  await chats.addLine(sender.authority, groupName(getOrigin(connection, event, sender.person)), {
    key: event.key,
    line,
  })
}

async function submitMessage(
  { env }: AcceptContext,
  connection: LoadedConnection,
  { event, sender, text }: Accepted,
): Promise<void> {
  const { id, tenantId, settings } = connection
  const { person, authority, tenant } = sender
  const origin = getOrigin(connection, event, person)
  const sessionId = await getSessionId(origin, settings)
  const { replyHandle } = event
  const { messageId: message, quote }: Partial<MessageContent> = event.kind === 'command' ? {} : event
  const name = await hashParts([id, event.key])
  const media = [...(await storeFiles(env, event, { tenantId, sessionId }, name)), ...quotedMedia(event)]
  const submitted = await sessionStub(env, tenantId, sessionId).inbound.submit({
    kind: 'inbound',
    authority,
    key: event.key,
    runId: newRunId(sessionId, name),
    origin,
    asker: { person, ...(message !== undefined && { message }), ...(replyHandle && { replyHandle }) },
    name: event.sender.name,
    // A command stands at the beginning of its message.
    text: quote && !text.startsWith('/') ? renderQuote(quote, text) : text,
    ...listRules(settings),
    commands: listCommands(connection, person),
    tenant,
    ...(media.length > 0 && { media }),
    ...companyOf(event),
    ...(!connection.channel.capabilities.buttons && { isNumbered: true }),
    ...(event.kind === 'edit' && { edits: event.messageId }),
  })
  if (!submitted && event.kind !== 'edit') throw new SessionUnavailable('This session is being deleted.')
}

/** Belongs to a message beside its text and its files. */
function companyOf(event: TextEvent) {
  const { albumId, background }: Partial<MessageContent> = event.kind === 'command' ? {} : event
  const isForeign = event.sender.isBot ?? event.isForeign
  return {
    ...(albumId !== undefined && { albumId }),
    ...(background && { background }),
    ...(isForeign && { isForeign }),
  }
}

/**
 * The files of the message that a person of a group replies to, or of one in another chat. In a direct chat the session has
 * its files already, as it has those of the bot.
 */
const quotedMedia = (event: TextEvent): readonly MediaReference[] =>
  event.kind === 'message' && (event.isGroup || event.quote?.isOfOtherChat) && !event.quote?.sender?.isBot
    ? (event.quote?.media ?? []).map((one) => ({ ...one, isQuoted: true }))
    : []

/** Files that are nowhere but in the message are stored before it counts. */
async function storeFiles({ BLOBS }: Env, event: TextEvent, owner: FileOwner, name: string) {
  const { media = [], carried }: Partial<MessageContent> = event.kind === 'command' ? {} : event
  if (!carried) return media
  const { storeCarriedFiles } = await import('./carried-files.ts')
  return storeCarriedFiles(BLOBS, media, { owner, name, files: carried, at: Date.now() })
}

/** The settings by which the session takes a message. */
const listRules = (settings: LoadedConnection['settings']) => ({
  mode: settings.busy_mode,
  burstMs: settings.burst_ms,
  hasBusyNotice: settings.busy_notice,
  maxQueued: settings.max_queued,
  ...(settings.session_reset && { reset: settings.session_reset }),
  ...(settings.project !== null && { projectId: settings.project }),
})

/**
 * Returns whether the tenant has let in a person whom no setting names. Sends an unknown person in a direct chat a code;
 * the code is not stored in an outbox, because a person who misses it gets another one by writing again.
 */
async function checkPairing(
  { env, runInBackground }: AcceptContext,
  connection: LoadedConnection,
  event: InboundEvent,
): Promise<boolean> {
  const { channel, tenantId } = connection
  if (event.isGroup) return false
  const person = { platform: channel.platform, person: getPerson(connection, event.sender), name: event.sender.name }
  const status = await tenantStub(env, tenantId).pairing.check(
    systemAuthority(tenantId, { kind: 'job', id: 'pairing' }),
    person,
    event.kind === 'message' && !channel.ignoresStrangers,
  )
  if (status.kind === 'code') {
    const text = `You are not known here yet. Give this code to the owner of this bot: ${status.code}\nIt is valid for an hour.`
    const message = { address: event.address, chunk: { text, spans: [] } }
    runInBackground(channel.send(connection, message, `pairing:${event.key}`))
  }
  const isApproved = status.kind === 'approved'
  // From now on the person is known by all ids.
  if (isApproved) await resolveSender(env, connection, event, false)
  return isApproved
}

/** Fetches the bot's account once and stores it. Undefined while the platform does not answer: no message mentions it then. */
async function fetchAccount(env: Env, connection: LoadedConnection): Promise<BotAccount | undefined> {
  const { id, tenantId, sealedSecrets } = connection
  const account = await connection.channel.getAccount(connection)
  if ('refused' in account) return undefined
  await createConnections(env.DB, tenantId).setAccount({ id, secrets: sealedSecrets }, account)
  forgetConnection(id)
  return account
}

/** The result is durable before the press is answered. Showing it may fail without harm. */
async function acceptPress(context: AcceptContext, connection: LoadedConnection, event: PressEvent): Promise<void> {
  const { env, runInBackground } = context
  const { tenantId, settings } = connection
  const { person, authority } = await findSender(context, connection, event)
  // In a group an admin may press the button of another person's session.
  const origin = getOrigin(connection, event, ownerOfButton(event.data) ?? person)
  const session = sessionStub(env, tenantId, await getSessionId(origin, settings))
  const answer = await session.pending.press(authority, event.data)
  const { command, ...result } = answer ?? { toast: 'Expired: there is no such session any more.', command: undefined }
  if (command !== undefined)
    await acceptText(context, connection, { event: { ...event, kind: 'command', text: command }, first: 'accept' })
  if (context.settle) return context.settle(result)
  const shown = showPressAnswer(connection, event, result)
  runInBackground(
    shown.catch((error: unknown) =>
      log.warn('channel.press_unanswered', 'A button press was not answered.', { error, tenant_id: tenantId }),
    ),
  )
}

async function showPressAnswer(
  connection: LoadedConnection,
  { key, pressId, messageId, address, replyHandle }: PressEvent,
  { toast, ends }: PressResult,
): Promise<void> {
  const { channel } = connection
  const to = { address, ...(replyHandle && { replyHandle }) }
  const sendText = async (text: string, edit: { readonly editedMessageId?: string } = {}) => {
    const [chunk] = channel.render(text, 'plain')
    if (chunk) await channel.send(connection, { ...to, ...edit, chunk }, `press:${key}`)
  }
  if (!channel.answerPress) return sendText(toast)
  await channel.answerPress(connection, pressId, toast)
  if (ends !== undefined && channel.capabilities.edit) await sendText(ends, { editedMessageId: messageId })
}

// Decides where a message of a group belongs: whether it is meant for the agent without a mention, and in which
// thread its session is.

/** A message, an edit of one, or a native command. */
type TextEvent = Extract<InboundEvent, { text: string }>

type Sent = { readonly event: TextEvent; readonly person: string; readonly authority: Authority }

/**
 * Whether the agent expects an unaddressed message: it continues a thread in which the agent takes part, or the person
 * answers a question of the agent.
 */
async function isExpected(env: Env, connection: LoadedConnection, sent: Sent): Promise<boolean> {
  const { event, person, authority } = sent
  const { channel, tenantId, settings } = connection
  const isReply = channel.capabilities.answersInThreads === true && event.address.thread !== undefined
  if (!isReply && !canAnswer(event)) return false
  const sessionId = await getSessionId(getOrigin(connection, event, person), settings)
  // Without buttons, a number also decides an approval.
  const isNumber = !channel.capabilities.buttons && /^\s*[1-9]\s*$/.test(event.text)
  if (!isReply) return tenantStub(env, tenantId).pending.hasQuestionFor(authority, sessionId, person, isNumber)
  return (await sessionStub(env, tenantId, sessionId).info.get(authority)) !== undefined
}

/** A text that names no other person. */
const canAnswer = (event: TextEvent): boolean =>
  event.kind === 'message' && !event.media.length && !event.mentions.length && !event.quote

/** Whether an unaddressed message is context for later turns: commands and edits are not. */
function isContext({ kind, text }: TextEvent): boolean {
  const command = parseCommand(text)
  return kind === 'message' && (!command || isPathName(command.name))
}

/**
 * Returns the address of a message. On platforms whose answers in a group begin a thread, a message that begins a turn
 * belongs to that thread. A command about a turn, and the answer to a question, belong to the session that has it.
 */
function placeInThread(
  { channel }: Pick<LoadedConnection, 'channel'>,
  { event, text, isAnswer }: { readonly event: TextEvent; readonly text: string; readonly isAnswer: boolean },
): ChatAddress {
  const { address, isGroup } = event
  const begins = isGroup && address.thread === undefined && event.kind !== 'command' && !isAnswer
  if (!channel.capabilities.answersInThreads || !begins || isTurnCommand(text)) return address
  return { ...address, thread: event.messageId }
}

const isTurnCommand = (text: string): boolean => findCommand(parseCommand(text)?.name ?? '')?.group === 'turn'

type LifecycleEvent = Extract<InboundEvent, { kind: 'lifecycle' }>

/** Applies what a platform reports about a chat or about a message of ours. */
async function acceptLifecycle(env: Env, connection: LoadedConnection, event: LifecycleEvent): Promise<void> {
  const { tenantId, settings } = connection
  if (event.change === 'moved') return moveChat(env, connection, event)
  if (event.change !== 'not-delivered') return
  const sessionId = await getSessionId(getOrigin(connection, event, event.sender.id), settings)
  const authority = systemAuthority(tenantId, { kind: 'job', id: 'delivery' })
  const session = sessionStub(env, tenantId, sessionId)
  await session.inbound.reportUndelivered(authority, { messageId: event.messageId, outcome: event.outcome })
}

/** The oldest is dropped then: its chat begins a new conversation. */
const maxMovedChats = 1_000

/**
 * Lets the chat go on under its new id: it keeps its sessions, and it is allowed where the old one was. The answers that
 * are on their way learn it from the platform. Anybody can add the bot to a group, so other chats are ignored.
 */
async function moveChat(
  env: Env,
  { id, tenantId, settings }: LoadedConnection,
  { address: { chat }, to }: Extract<LifecycleEvent, { change: 'moved' }>,
): Promise<void> {
  const { moved_chats: moved, allow_chats: allowed, free_chats: free } = settings
  const isNamed = Object.hasOwn(moved, chat) || allowed.includes(chat) || free.includes(chat)
  const name = chatName({ connection: id, chat })
  if (!isNamed && !(await hasSessionOfChat(createTenantDb(historyDb(env, tenantId), tenantId), name))) return
  const compute = (stored: object) => settingsAfterMove(channelSettings.parse(stored), chat, to)
  await changeChannelSettings(env.DB, tenantId, { id, actor: `channel:${id}`, compute })
  forgetConnection(id)
}

/** The change of the settings. Undefined when the move is stored already. */
function settingsAfterMove(
  { moved_chats: moved, allow_chats: allowed, free_chats: free }: ChannelSettings,
  chat: string,
  to: string,
): object | undefined {
  if (Object.hasOwn(moved, to)) return undefined
  const withNew = (chats: readonly string[]) => (chats.includes(chat) ? [...new Set([...chats, to])] : chats)
  const oldest = Object.keys(moved).slice(0, Math.max(0, Object.keys(moved).length + 1 - maxMovedChats))
  return {
    // An entry of null is removed.
    moved_chats: { ...Object.fromEntries(oldest.map((one) => [one, null])), [to]: moved[chat] ?? chat },
    allow_chats: withNew(allowed),
    free_chats: withNew(free),
  }
}
