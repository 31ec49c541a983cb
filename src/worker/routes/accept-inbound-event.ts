/**
 * Accepts one event of a messaging platform: checks who may write, and submits it to the session of its chat. Resolves
 * once the result is durable; rejects when the platform must deliver the event again.
 */

import { log } from '../../agent/model/log.ts'
import type { BotAccount, InboundEvent } from '../../channels/channel.ts'
import { classifyEvent, stripMention } from '../../channels/classify-event.ts'
import { entitlementOf } from '../../channels/settings.ts'
import { type Authority, hasScope, systemAuthority } from '../../agent/model/permission/authority.ts'
import { resolveAuthority } from '../../agent/model/permission/roles.ts'
import { createConnections } from '../../db/channel-connections.ts'
import { forgetConnection, type LoadedConnection } from '../../durable/channels/connection.ts'
import { newRunId } from '../../durable/platform/ids.ts'
import { fetchTenantSnapshot, type TenantSnapshot } from '../../durable/tenant/tenant-snapshot.ts'
import { tenantStub } from '../../durable/tenant/tenant-stub.ts'
import { AppError } from '../errors.ts'
import type { Web } from '../route.ts'
import { sessionStub } from '../sessions.ts'

type MessageEvent = Extract<InboundEvent, { kind: 'message' }>
type PressEvent = Extract<InboundEvent, { kind: 'press' }>

export async function acceptInboundEvent(web: Web, connection: LoadedConnection, event: InboundEvent): Promise<void> {
  const { settings } = connection
  const isPaired = await checkPairing(web, connection, event)
  const first = isPaired ? 'accept' : classifyEvent(event, settings, connection.account)
  if (first === 'ignore') return
  if (event.kind === 'press') return acceptPress(web, connection, event)
  if (event.kind !== 'message') return
  // Our own account matters only where the message must mention it.
  const isAccountNeeded = first === 'unaddressed' && !connection.account
  const account = isAccountNeeded ? await fetchAccount(web.env, connection) : connection.account
  const isUnaddressed = first === 'unaddressed' && classifyEvent(event, settings, account) === 'unaddressed'
  await submitMessage(web, connection, { event, isUnaddressed, text: stripMention(event.text, account) })
}

async function submitMessage(
  web: Web,
  connection: LoadedConnection,
  message: { readonly event: MessageEvent; readonly isUnaddressed: boolean; readonly text: string },
): Promise<void> {
  const { event, isUnaddressed, text } = message
  const { env } = web
  const { id, tenantId, channel, settings } = connection
  const tenant = await fetchTenantSnapshot(env, tenantId)
  const authority = authorityOf(web, connection, event, tenant)
  // Their role was deleted: nobody answers, as if they were not known.
  if (!hasScope(authority, 'chat')) return
  const sessionId = await sessionIdFor(id, event)
  const session = sessionStub(env, tenantId, sessionId)
  const submitted = await session.inbound.submit({
    kind: 'inbound',
    authority,
    key: event.key,
    runId: newRunId(sessionId, await hashOf([id, event.key])),
    origin: { connection: id, platform: channel.platform, isGroup: event.isGroup, ...event.address },
    asker: { person: event.sender.id, message: event.messageId },
    name: event.sender.name,
    text,
    isUnaddressed,
    mode: settings.busy_mode,
    tenant,
  })
  // The next delivery begins a new session.
  if (!submitted) throw new AppError(503, 'unavailable', 'This session is being deleted. Try again in a moment.')
}

/**
 * Tells whether the tenant has let in a person whom no setting names. Sends an unknown person in a direct chat a code;
 * the code is not stored in an outbox, because a person who misses it gets another one by writing again.
 */
async function checkPairing({ env, executionCtx }: Web, connection: LoadedConnection, event: InboundEvent) {
  const { channel, settings, tenantId, account } = connection
  if (event.isGroup || classifyEvent(event, settings, account) !== 'ignore') return false
  const person = { platform: channel.platform, person: event.sender.id, name: event.sender.name }
  const status = await tenantStub(env, tenantId).pairing.check(
    systemAuthority(tenantId, { kind: 'job', id: 'pairing' }),
    person,
    event.kind === 'message',
  )
  if (status.kind === 'code') {
    const text = `You are not known here yet. Give this code to the owner of this bot: ${status.code}\nIt is valid for an hour.`
    const message = { address: event.address, chunk: { text, spans: [] } }
    executionCtx.waitUntil(channel.send(connection, message, `pairing:${event.key}`))
  }
  return status.kind === 'approved'
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
async function acceptPress(web: Web, connection: LoadedConnection, event: PressEvent): Promise<void> {
  const { tenantId } = connection
  const session = sessionStub(web.env, tenantId, await sessionIdFor(connection.id, event))
  const authority = authorityOf(web, connection, event, await fetchTenantSnapshot(web.env, tenantId))
  const answer = await session.pending.press(authority, event.data)
  const shown = showPressAnswer(connection, event, answer ?? { toast: 'Expired: there is no such session any more.' })
  web.executionCtx.waitUntil(
    shown.catch((error: unknown) =>
      log.warn('channel.press_unanswered', 'A button press was not answered.', { error, tenant_id: tenantId }),
    ),
  )
}

async function showPressAnswer(
  connection: LoadedConnection,
  { key, pressId, messageId, address }: PressEvent,
  { toast, ends }: { readonly toast: string; readonly ends?: string },
): Promise<void> {
  const { channel } = connection
  await channel.answerPress?.(connection, pressId, toast)
  const [chunk] = ends === undefined ? [] : channel.render(ends, 'plain')
  if (chunk) await channel.send(connection, { address, chunk, editedMessageId: messageId }, `press:${key}`)
}

/** A person acts in this chat only. */
function authorityOf(
  web: Web,
  { id, tenantId, settings }: LoadedConnection,
  { sender, address }: InboundEvent,
  { access }: TenantSnapshot,
): Authority {
  const isAdmin = settings.admins.includes(sender.id)
  const person = {
    tenantId,
    principal: { kind: 'person', connection: id, person: sender.id, isAdmin },
    entitlements: [entitlementOf(settings, isAdmin)],
    channel: { connection: id, chat: address.chat },
    taint: 'none',
    requestId: web.get('requestId'),
  } as const
  return resolveAuthority(person, access?.roles ?? {})
}

/** One session for each chat and thread of a connection. */
const sessionIdFor = async (connection: string, { address }: InboundEvent): Promise<string> =>
  `ses_${await hashOf([connection, address.chat, address.thread ?? null])}`

async function hashOf(parts: readonly (string | null)[]): Promise<string> {
  const text = new TextEncoder().encode(JSON.stringify(parts))
  const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', text))
  return [...digest.subarray(0, 16)].map((byte) => byte.toString(16).padStart(2, '0')).join('')
}
