/** Delivers results of jobs. Each target is tried on its own, with one key for all attempts. */

import { allMarks, type Marks } from '#agent/core/marks.ts'
import type { Authority } from '#agent/core/permission/authority.ts'
import type { ChatOrigin } from '#agent/core/delivery.ts'
import { channelSettings } from '#channels/settings.ts'
import { clock } from '#durable/platform/clock.ts'
import { failpoint } from '#durable/platform/failpoint.ts'
import type { GuardedFetch } from '#durable/platform/guarded-fetch.ts'
import type { TenantChats } from '../channels/chats.ts'
import { findConnection } from '../channels/find-connection.ts'
import { chatSessionId } from './chat-session.ts'
import { type DeliveryRows, type Destination, reachesOthers, type JobDelivery } from './delivery-rows.ts'
import type { SessionJobs } from './session-port.ts'
import { signWebhook } from './webhook-signature.ts'
import { isGroupChat } from '../channels/resolve-chat.ts'

/** Accepts a message of a job into a session, once per key. Undefined: there is no such session. */
type AcceptMessage = (
  sessionId: string,
  authority: Authority,
  message: { readonly key: string; readonly text: string; readonly marks: Marks },
) => Promise<'delivered' | 'duplicate' | 'too-large' | undefined>

export type DeliveryContext = {
  readonly env: Env
  readonly tenantId: string
  readonly rows: DeliveryRows
  readonly sessionOf: (sessionId: string) => SessionJobs
  readonly hasSession: (authority: Authority, sessionId: string) => Promise<boolean>
  readonly acceptMessage: AcceptMessage
  readonly guardedFetch: GuardedFetch
  readonly findHome: TenantChats['findHome']
  /** Returns why the job may not send anything there. */
  readonly judgeDelivery: (authority: Authority, target: string) => Promise<string | undefined>
  /** Records why a target did not get the result. */
  readonly fail: (delivery: JobDelivery, error: string) => void
}

/** `later`: the attempt failed, and the next one may succeed. `sending`: it is accepted, and will be looked for. */
type DeliveryAttempt =
  | { readonly kind: 'sent' }
  | { readonly kind: 'sending' }
  | { readonly kind: 'later'; readonly error: string }
  | { readonly kind: 'failed'; readonly error: string }

/** Attempts of one delivery: the last one is about an hour after the first. */
const maxAttempts = 12
const firstPauseMs = 2_000
const maxPauseMs = 600_000
const webhookTimeoutMs = 30_000
const leaseMs = webhookTimeoutMs + 15_000

const pauseAfter = (attempts: number): number => Math.min(firstPauseMs * 2 ** attempts, maxPauseMs)

export async function deliverResult(context: DeliveryContext, stored: JobDelivery): Promise<void> {
  const { rows } = context
  const delivery = { ...stored, attempts: stored.attempts + 1 }
  // Stored before the attempt: after a crash the next one is marked as a repeat.
  rows.put(delivery, clock.now() + leaseMs)
  await failpoint('job-delivering')
  const attempt = await tryDelivery(context, delivery).catch((error: unknown) => ({
    kind: 'later' as const,
    error: error instanceof Error ? error.message : String(error),
  }))
  await failpoint('job-delivered')
  // The job may have been deleted meanwhile.
  if (!rows.has(delivery.key)) return
  settle(context, delivery, attempt)
}

function settle({ rows, fail }: DeliveryContext, delivery: JobDelivery, attempt: DeliveryAttempt): void {
  const { key, attempts } = delivery
  const now = clock.now()
  switch (attempt.kind) {
    case 'sent':
      return rows.remove(key)
    case 'sending':
      // Looking for it is no attempt. The chat gives up by itself.
      return rows.put(
        { ...delivery, attempts: Math.max(1, attempts - 1), isHandedOver: true },
        now + pauseAfter(attempts),
      )
    case 'later':
      if (attempts < maxAttempts) return rows.put(delivery, now + pauseAfter(attempts))
      rows.remove(key)
      return fail(delivery, `gave up after ${attempts} attempts: ${attempt.error}`)
    case 'failed':
      rows.remove(key)
      return fail(delivery, attempt.error)
  }
}

async function tryDelivery(context: DeliveryContext, delivery: JobDelivery): Promise<DeliveryAttempt> {
  const { to, target, authority } = delivery
  const refusal = reachesOthers(to, authority) ? await context.judgeDelivery(authority, target) : undefined
  if (refusal !== undefined) return { kind: 'failed', error: refusal }
  switch (to.kind) {
    case 'session':
      return deliverToSession(context, delivery, to.sessionId)
    case 'origin-chat':
      return notifyChat(context, delivery, to)
    case 'chat':
      return deliverToChat(context, delivery, to)
    case 'home':
      return deliverToHome(context, delivery, to.platform)
    case 'webhook':
      return callWebhook(context, delivery, to.url)
  }
}

async function deliverToSession(
  context: DeliveryContext,
  delivery: JobDelivery,
  sessionId: string,
): Promise<DeliveryAttempt> {
  const { key, text, authority, marks = allMarks } = delivery
  const outcome = await context.acceptMessage(sessionId, authority, { key, text, marks })
  if (outcome === undefined) return { kind: 'failed', error: 'There is no such session.' }
  return outcome === 'too-large' ? { kind: 'failed', error: 'The session has no room for it.' } : { kind: 'sent' }
}

async function notifyChat(
  { sessionOf }: DeliveryContext,
  { key, text, authority }: JobDelivery,
  { sessionId, chat }: { readonly sessionId: string; readonly chat: ChatOrigin },
): Promise<DeliveryAttempt> {
  const state = await sessionOf(sessionId).notify(authority, { key, chat, text, format: 'markdown' })
  return state ?? { kind: 'failed', error: 'The session of the chat does not exist any more.' }
}

type DeliveryChat = Extract<Destination, { readonly kind: 'chat' }>

async function deliverToChat(
  context: DeliveryContext,
  delivery: JobDelivery,
  target: DeliveryChat,
): Promise<DeliveryAttempt> {
  const found = await findConnection(context, target.connection)
  if ('error' in found) return { kind: 'failed', error: found.error }
  const { moved_chats: moved } = channelSettings.parse(found.settings)
  const { thread } = target
  const first = moved[target.chat] ?? target.chat
  // The last id that the platform has given to the chat.
  const chat = Object.keys(moved).findLast((id) => moved[id] === first) ?? target.chat
  const place = { connection: found.id, platform: found.platform, ...(thread !== undefined && { thread }) }
  const sessionId = await chatSessionId(found.id, { ...place, chat: first })
  // A session that exists knows it already.
  const isKnown = await context.hasSession(delivery.authority, sessionId)
  const isGroup =
    isKnown || (await isGroupChat(context.env, found.id, { chat, ...(thread !== undefined && { thread }) }))
  return notifyChat(context, delivery, { sessionId, chat: { ...place, chat, isGroup } })
}

async function deliverToHome(
  context: DeliveryContext,
  delivery: JobDelivery,
  platform: string,
): Promise<DeliveryAttempt> {
  const home = context.findHome(platform)
  return home
    ? notifyChat(context, delivery, home)
    : { kind: 'failed', error: `${platform} has no home chat any more.` }
}

async function callWebhook(
  { env, tenantId, guardedFetch }: DeliveryContext,
  { key, run, jobName, text, attempts }: JobDelivery,
  url: string,
): Promise<DeliveryAttempt> {
  const { jobId, slot, status, error, sessionId } = run
  const body = JSON.stringify({
    type: 'job.run',
    delivery_id: key,
    job_id: jobId,
    job_name: jobName,
    run_id: run.id,
    slot: new Date(slot).toISOString(),
    status,
    session_id: sessionId ?? null,
    error: error ?? null,
    text,
  })
  const headers = {
    'content-type': 'application/json',
    'idempotency-key': key,
    ...(attempts > 1 && { 'x-talaria-attempt': String(attempts) }),
    ...(await signWebhook(env, { tenantId, jobId, body, now: clock.now() })),
  }
  const { response } = await guardedFetch({ url, method: 'POST', headers, body, timeoutMs: webhookTimeoutMs })
  await response.body?.cancel()
  if (response.ok) return { kind: 'sent' }
  const answer = `${new URL(url).host} answered with status ${response.status}`
  const mayRecover = response.status >= 500 || response.status === 408 || response.status === 429
  return { kind: mayRecover ? 'later' : 'failed', error: answer }
}
