/** Makes a paid call of a media vendor for a request: chosen by the settings, reserved before it leaves, billed after it. */

import { noUsage, tallyKey, usageOfCall } from '#agent/core/usage.ts'
import type { MediaUse } from '#agent/routing/media-providers.ts'
import { chooseMedia, type MediaChoice } from '#agent/routing/media-vendors.ts'
import { MediaFailure, type MediaFailureKind } from '#backends/media/vendor.ts'
import type { MediaTransport } from '#durable/models/media/vendor-transport.ts'
import { createToolDeployment } from '#durable/models/tool-deployment.ts'
import { createTenantFetch } from '#durable/tenant/tenant-fetch.ts'
import { AppError } from '../errors.ts'
import { type PaidRequest, reservePaidCall } from './paid-call.ts'

export type PaidWork<Use extends MediaUse, Made> = {
  readonly use: Use
  readonly choice: MediaChoice<Use>
  /** The most that one unit can cost. Absent: as the choice says. */
  readonly maxUsd?: number | undefined
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
  { env, tenant }: PaidRequest,
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

export async function payFor<Use extends MediaUse, Made>(call: PaidRequest, paid: PaidWork<Use, Made>): Promise<Made> {
  const { env, tenant, web } = call
  const { use, choice, units, maxUsd = choice.usd } = paid
  const usd = maxUsd === undefined ? undefined : maxUsd * units
  const paidCall = await reservePaidCall(call, { source: use, model: modelOf(choice), tokens: 0, usd })
  const runInBackground = (work: Promise<unknown>) => web.executionCtx.waitUntil(work)
  const transport = { env, guardedFetch: createTenantFetch(env, tenant.id, runInBackground) }
  try {
    const made = await paid.work(transport)
    await paidCall.bill(estimateUsage(paid, paid.unitsOf?.(made) ?? units))
    return made
  } catch (error) {
    if (error instanceof MediaFailure && error.kind !== 'unknown') await paidCall.release()
    else await paidCall.bill(estimateUsage(paid, units))
    throw error instanceof MediaFailure ? toAppError(error) : error
  }
}

const modelOf = ({ provider, model }: Pick<MediaChoice, 'provider' | 'model'>) => `${provider}/${model}`

function estimateUsage<Use extends MediaUse>(
  { use, choice }: Pick<PaidWork<Use, unknown>, 'use' | 'choice'>,
  units: number,
) {
  const costUsd = (choice.usd ?? 0) * units
  const costStatus = choice.usd === undefined ? 'unknown' : 'estimated'
  return usageOfCall({ ...noUsage, costUsd, costStatus }, tallyKey(modelOf(choice), use))
}

const answers: Readonly<Record<MediaFailureKind, readonly [status: number, code: AppError['code']]>> = {
  not_configured: [501, 'not_configured'],
  refused: [400, 'invalid_request'],
  auth: [401, 'provider_key_rejected'],
  rate: [429, 'rate_limit_exceeded'],
  quota: [402, 'insufficient_quota'],
  limit: [429, 'limit_exceeded'],
  unknown: [502, 'provider_error'],
  unreadable: [502, 'provider_error'],
  failed: [502, 'provider_error'],
}

/** SDKs must not repeat a call that may have been paid. */
function toAppError(cause: MediaFailure): AppError {
  const { kind, message, retryAfter } = cause
  const [status, code] = answers[kind]
  const isFinal = kind === 'unknown' || kind === 'unreadable' || kind === 'failed'
  const headers = { ...(isFinal && { 'x-should-retry': 'false' }) }
  return new AppError(status, code, message, { retryAfter, headers, cause })
}
