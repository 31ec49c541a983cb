/** Makes a paid call for a request of a client: chosen by the settings, reserved before it leaves, billed after it. */

import { log } from '../../agent/model/log.ts'
import { noUsage, tallyKey, usageOfCall } from '../../agent/model/usage.ts'
import { hasUsdLimit } from '../../agent/policy/spending-limit.ts'
import { chooseMedia, type MediaChoice, type MediaUse } from '../../agent/routing/media-vendors.ts'
import { MediaFailure, type MediaFailureKind } from '../../backends/media/vendor.ts'
import { addUsage } from '../../db/delete-pages.ts'
import type { MediaTransport } from '../../durable/models/media/vendor-transport.ts'
import { createToolDeployment } from '../../durable/models/tool-deployment.ts'
import { countsSpending, noAmount } from '../../durable/tenant/billing/spending.ts'
import { createTenantFetch } from '../../durable/tenant/tenant-fetch.ts'
import { tenantStub } from '../../durable/tenant/tenant-stub.ts'
import { AppError, runFailed } from '../errors.ts'
import { requireAdmission } from '../limits.ts'
import type { Call } from '../route.ts'

export type MediaRequest = Pick<Call<unknown, unknown>, 'env' | 'authority' | 'tenant' | 'web'>

export type PaidWork<Use extends MediaUse, Made> = {
  readonly use: Use
  readonly choice: MediaChoice<Use>
  /** Of what the price is for: the most, before the call. */
  readonly units: number
  readonly work: (transport: MediaTransport) => Promise<Made>
  /** The real number, when the answer tells it. */
  readonly unitsOf?: (made: Made) => number
}

/** Names of OpenAI's models, which clients have built in. Other providers answer them with their own. */
const openaiModel = /^(?:gpt-|whisper-1$|tts-1|dall-e-|chatgpt-)/

/** Throws 501 without a provider. `model`: as the client names it, also as provider/model. */
export function requireChoice<Use extends MediaUse>(
  { env, tenant }: MediaRequest,
  use: Use,
  model: string | undefined,
): MediaChoice<Use> {
  const deployment = createToolDeployment(env, { id: tenant.id, settings: tenant.settings })
  const [, provider, name] =
    /^(openai|gemini|fal|groq|deepgram|elevenlabs|workers-ai)\/(.{1,200})$/s.exec(model ?? '') ?? []
  const standard = chooseMedia(use, deployment, provider === undefined ? undefined : { provider, model: name })
  if ('reason' in standard) throw new AppError(501, 'not_configured', standard.reason, { param: 'model' })
  const isOwnName = provider !== undefined || model === undefined || model === ''
  if (isOwnName || (standard.provider !== 'openai' && openaiModel.test(model))) return standard
  const wanted = chooseMedia(use, deployment, { provider: standard.provider, model })
  return 'reason' in wanted ? standard : wanted
}

export async function payFor<Use extends MediaUse, Made>(call: MediaRequest, paid: PaidWork<Use, Made>): Promise<Made> {
  const { env, tenant, web } = call
  const id = `${paid.use}_${crypto.randomUUID().replaceAll('-', '')}`
  await reserve(call, id, paid)
  const runInBackground = (work: Promise<unknown>) => web.executionCtx.waitUntil(work)
  const transport = { env, guardedFetch: createTenantFetch(env, tenant.id, runInBackground) }
  try {
    const made = await paid.work(transport)
    await bill(call, id, { ...paid, units: paid.unitsOf?.(made) ?? paid.units })
    return made
  } catch (error) {
    if (error instanceof MediaFailure && error.kind !== 'unknown') await settle(call, id, 0)
    else await bill(call, id, paid)
    throw error instanceof MediaFailure ? toAppError(error) : error
  }
}

const modelOf = ({ choice }: Pick<PaidWork<MediaUse, unknown>, 'choice'>) => `${choice.provider}/${choice.model}`

async function reserve<Use extends MediaUse, Made>(
  { env, authority, tenant: { id, limits } }: MediaRequest,
  callId: string,
  { choice, units }: PaidWork<Use, Made>,
): Promise<void> {
  const { usd } = choice
  if (usd === undefined && hasUsdLimit(limits, false))
    throw new AppError(400, 'unsupported', `A limit in USD holds, and the price of ${choice.model} is unknown.`, {
      param: 'model',
    })
  if (!countsSpending(limits)) return
  const demand = { spent: noAmount, held: noAmount, call: { tokens: 0, usd: (usd ?? 0) * units } }
  const reserved = await tenantStub(env, id).billing.reserve(authority, callId, demand)
  if (!reserved.ok) requireAdmission({ ok: false, limit: reserved.limit, retryAfter: reserved.retryAfter })
}

async function settle({ env, authority, tenant: { id, limits } }: MediaRequest, callId: string, usd: number) {
  if (!countsSpending(limits)) return
  await tenantStub(env, id).billing.settle(authority, callId, { tokens: 0, usd, at: Date.now() })
}

/** The media are paid: an error of the books does not take them from the client. */
async function bill<Use extends MediaUse, Made>(call: MediaRequest, id: string, paid: PaidWork<Use, Made>) {
  const { choice, units, use } = paid
  const costUsd = (choice.usd ?? 0) * units
  const costStatus = choice.usd === undefined ? 'unknown' : 'estimated'
  const usage = usageOfCall({ ...noUsage, costUsd, costStatus }, tallyKey(modelOf(paid), use))
  const spent = { runId: id, at: Date.now(), source: use, model: modelOf(paid), usage }
  await Promise.all([settle(call, id, costUsd), addUsage(call.env.DB, call.tenant.id, spent)]).catch((error: unknown) =>
    log.error('media.unbilled', 'The cost of media could not be recorded.', { error }),
  )
}

const answers: Readonly<Record<MediaFailureKind, readonly [status: number, code: AppError['code']]>> = {
  not_configured: [501, 'not_configured'],
  refused: [400, 'invalid_request'],
  auth: [401, 'provider_key_rejected'],
  rate: [429, 'rate_limit_exceeded'],
  quota: [402, 'insufficient_quota'],
  limit: [429, 'limit_exceeded'],
  unknown: [502, 'provider_error'],
  failed: [502, 'provider_error'],
}

/** SDKs must not repeat a call that may have been paid. */
function toAppError({ kind, message, retryAfter }: MediaFailure): AppError {
  const [status, code] = answers[kind]
  const details = { ...(retryAfter !== undefined && { retryAfter }) }
  if (kind === 'unknown' || kind === 'failed')
    return runFailed({ status, code: 'provider_error', message, ...details }, {})
  return new AppError(status, code, message, details)
}
