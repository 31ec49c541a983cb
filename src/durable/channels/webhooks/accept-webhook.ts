/**
 * Accepts a request to a generic webhook, in this order: signature, events and filters, rate, durable acceptance. It then
 * begins a turn in a session of its own, runs a job, or sends the filled prompt to a chat.
 */

import { actAs, type Authority, narrow, systemAuthority } from '#agent/core/permission/authority.ts'
import { narrowByRoles } from '#agent/core/permission/roles.ts'
import { sendAction } from '#tools/tool-names.ts'
import type { ChatOrigin } from '#agent/core/delivery.ts'
import { fullAccess } from '#agent/core/permission/access.ts'
import { parseTargets } from '#agent/schedule/job/targets.ts'
import type { InboundRequest } from '#channels/channel.ts'
import { parseJson } from '#agent/core/parse-json.ts'
import { composePrompt, composeText } from '#channels/webhook/compose-prompt.ts'
import { parseEvent, isWanted } from '#channels/webhook/match-payload.ts'
import { verifyWebhook, type VerifiedWebhook } from '#channels/webhook/verify-webhook.ts'
import { clock } from '#durable/platform/clock.ts'
import { newRunId } from '#durable/platform/ids.ts'
import { resolveChat } from '#durable/tenant/channels/resolve-chat.ts'
import { chatSessionId, hashParts } from '#durable/tenant/jobs/chat-session.ts'
import { fetchTenantSnapshot, type TenantSnapshot } from '#durable/tenant/tenant-snapshot.ts'
import type { LoadedWebhook } from './load-webhook.ts'
import { sessionStub, tenantStub } from '#durable/platform/addresses.ts'

export type WebhookOutcome =
  /** It is not proven. Nothing is stored. */
  | { readonly kind: 'refused' }
  | { readonly kind: 'ignored' | 'duplicate' | 'delivered' }
  | { readonly kind: 'accepted'; readonly sessionId?: string; readonly runId?: string }
  | { readonly kind: 'too-many'; readonly retryAfter: number }
  /** The sender should try again. */
  | { readonly kind: 'unavailable' }
  | { readonly kind: 'failed'; readonly detail: string }

/** `key`: the same for every delivery of one event. */
type WebhookDelivery = {
  readonly webhook: LoadedWebhook
  readonly key: string
  readonly payload: unknown
  readonly event: string | undefined
  readonly tenant: TenantSnapshot
}

export async function acceptWebhook(
  env: Env,
  webhook: LoadedWebhook,
  request: InboundRequest,
): Promise<WebhookOutcome> {
  const { id, tenantId, settings, status } = webhook
  const verified = await verify(webhook, request)
  if (!verified) return { kind: 'refused' }
  const text = new TextDecoder().decode(request.body)
  const payload = parseJson(text) ?? { body: text }
  const event = parseEvent(payload, verified.event)
  const tenant = await fetchTenantSnapshot(env, tenantId)
  const isActive = status === 'active' && (tenant.access ?? fullAccess).status === 'active'
  if (!isActive || !isWanted(payload, event, settings)) return { kind: 'ignored' }
  const retryAfter = await tenantStub(env, tenantId).hooks.admit(authorityOf(webhook), id)
  if (retryAfter !== undefined) return { kind: 'too-many', retryAfter }
  const key = await hashParts([id, await getDelivery(env, webhook, verified)])
  return perform(env, { webhook, key, payload, event, tenant })
}

async function verify({ settings, secrets }: LoadedWebhook, request: InboundRequest) {
  for (const secret of secrets) {
    const verified = await verifyWebhook(settings.signature, request, secret)
    if (verified) return verified
  }
  return undefined
}

/** A copy of a request counts as the first one that had its signature, whatever name it carries. */
async function getDelivery(
  env: Env,
  webhook: LoadedWebhook,
  { delivery = crypto.randomUUID(), proof }: VerifiedWebhook,
): Promise<string> {
  if (proof === undefined || proof === delivery) return delivery
  const { chats } = tenantStub(env, webhook.tenantId)
  return chats.claimDelivery(authorityOf(webhook), await hashParts([webhook.id, proof]), delivery)
}

function perform(env: Env, delivery: WebhookDelivery): Promise<WebhookOutcome> {
  const { job, deliver_only: isMessage } = delivery.webhook.settings
  if (job !== null) return runJob(env, delivery, job)
  return isMessage ? sendMessage(env, delivery) : beginTurn(env, delivery)
}

/**
 * A turn of a webhook can chat, and nothing else, with what everybody may who has made or changed the webhook. Strangers may
 * have written what it reads.
 */
function authorityOf({ tenantId, id, authors }: LoadedWebhook): Authority {
  const principal = { kind: 'job', id } as const
  const chats = { scopes: ['chat'], taint: 'untrusted' } as const
  if (authors) return narrow(actAs(authors, principal), chats)
  return narrow(systemAuthority(tenantId, principal, ['chat']), { ...chats, maxRisk: 'read' })
}

async function beginTurn(env: Env, { webhook, key, payload, event, tenant }: WebhookDelivery): Promise<WebhookOutcome> {
  const { tenantId, name, settings } = webhook
  const target = await getTarget(env, webhook)
  if (target && 'error' in target) return { kind: 'failed', detail: target.error }
  const sessionId = `ses_${key}`
  const submitted = await sessionStub(env, tenantId, sessionId).inbound.submitWebhook({
    kind: 'webhook',
    authority: authorityOf(webhook),
    key,
    runId: newRunId(sessionId, key),
    title: event === undefined ? name : `${name}: ${event}`.slice(0, 200),
    text: composePrompt(settings, payload, { name, event }),
    ...(target && { deliverTo: target }),
    tenant,
  })
  if (!submitted) return { kind: 'unavailable' }
  switch (submitted.status) {
    case 'duplicate':
      return { kind: 'duplicate' }
    case 'over-limit':
      return { kind: 'too-many', retryAfter: submitted.retryAfter }
    case 'running':
      return { kind: 'accepted', sessionId, runId: submitted.runId }
    default:
      return { kind: 'failed', detail: `The turn could not begin: ${submitted.status}.` }
  }
}

async function runJob(env: Env, { webhook, key }: WebhookDelivery, job: string): Promise<WebhookOutcome> {
  const authority = systemAuthority(webhook.tenantId, { kind: 'job', id: webhook.id }, ['jobs'])
  const runId = `jobrun_${key}`
  const outcome = await tenantStub(env, webhook.tenantId).jobs.run(authority, job, runId)
  if (outcome.kind === 'claimed') return { kind: 'accepted', runId }
  return outcome.kind === 'busy' ? { kind: 'unavailable' } : { kind: 'failed', detail: 'The job does not exist.' }
}

/** How long the sender waits for the platform. The message leaves in any case. */
const deliveryTimeoutMs = 8_000
const pollMs = 200

async function sendMessage(env: Env, { webhook, key, payload, tenant }: WebhookDelivery): Promise<WebhookOutcome> {
  const refusal = await judgeSending(webhook, tenant)
  if (refusal) return { kind: 'failed', detail: refusal.error }
  const chat = await getTarget(env, webhook)
  if (!chat || 'error' in chat) return { kind: 'failed', detail: chat?.error ?? 'The webhook has no chat.' }
  const authority = authorityOf(webhook)
  const session = sessionStub(env, webhook.tenantId, await chatSessionId(chat.connection, chat))
  const text = composeText(webhook.settings, payload)
  const notice = { key: `webhook:${key}`, chat, text, format: 'plain' } as const
  const until = clock.now() + deliveryTimeoutMs
  for (let polls = 0; ; polls++) {
    const state = await session.jobs.notify(authority, notice)
    if (!state) return { kind: 'unavailable' }
    // A new message is never sent by the time of the first poll.
    if (state.kind === 'sent') return { kind: polls ? 'delivered' : 'duplicate' }
    if (state.kind === 'failed') return { kind: 'failed', detail: state.error }
    if (clock.now() >= until) return { kind: 'accepted' }
    await clock.wait(pollMs)
  }
}

/** The text leaves as it is filled in, so it is judged as a message that the authors of the webhook send. */
async function judgeSending(webhook: LoadedWebhook, { settings, access }: TenantSnapshot) {
  const authority = narrowByRoles(authorityOf(webhook), access?.roles)
  const action = { tool: sendAction, input: { target: webhook.settings.deliver }, isOrdered: true }
  const { judgeAction } = await import('#tools/judge-action.ts')
  return judgeAction(action, { settings, origin: { source: 'webhook' }, authority })
}

/** Resolved again each time: the home chat of a platform may change, and a chat may move. */
async function getTarget(
  env: Env,
  { tenantId, settings: { deliver } }: LoadedWebhook,
): Promise<ChatOrigin | { readonly error: string } | undefined> {
  if (deliver === null) return undefined
  const parsed = parseTargets(deliver)
  const [target] = parsed.ok ? parsed.targets : []
  if (target?.kind !== 'chat' && target?.kind !== 'home') return { error: 'The target is no chat.' }
  const authority = systemAuthority(tenantId, { kind: 'job', id: 'webhook' })
  const findHome = (platform: string) => tenantStub(env, tenantId).chats.home(authority, platform)
  const resolved = await resolveChat({ env, tenantId, findHome }, target)
  return resolved.kind === 'found' ? resolved.chat : { error: resolved.detail }
}
