/**
 * Answers a paid request once per `Idempotency-Key`. No session has the answer, so it is kept in R2. A repeat gets it
 * from there, and waits while the first request runs.
 */

import { log } from '#agent/core/log.ts'
import { MediaFailure } from '#backends/media/vendor.ts'
import { clock } from '#durable/platform/clock.ts'
import { claimRetentionMs } from '#durable/tenant/claims.ts'
import { AppError, renderError } from '../errors.ts'
import { claimIds, type KeyedCall, type RequestIds, replayHeaders } from '../idempotency.ts'
import { blobPrefix } from '#durable/platform/addresses.ts'
import { sha256Base64 } from '#durable/platform/hash.ts'

type AnswerWork = () => Promise<Response>

/** Longer than a vendor takes. */
const waitTimeoutMs = 300_000
const pollMs = 1_000
/** Each answer deletes more old ones than it adds. */
const maxDeleted = 20

export async function answerOnce(call: KeyedCall, work: AnswerWork): Promise<Response> {
  const ids = await claimIds(call, newAnswerId())
  if (!ids.repeatable) return work()
  if (ids.replayed) return waitForAnswer(call, ids)
  const answering = answerAndKeep(call, ids, work)
  // The answer is paid, so it is kept although the client hangs up.
  call.web.executionCtx.waitUntil(answering.catch(() => undefined))
  return answering
}

/** Keys of R2 are listed in ascending order: the oldest answers come first. */
const newAnswerId = (): string => `${clock.now()}-${crypto.randomUUID()}`

const answerPrefix = (tenantId: string): string => blobPrefix(tenantId, 'answers')
const answerKey = ({ tenant }: KeyedCall, { sessionId: id }: RequestIds): string => answerPrefix(tenant.id) + id

async function answerAndKeep(call: KeyedCall, ids: RequestIds, work: AnswerWork): Promise<Response> {
  try {
    const answer = await work()
    await keepAnswer(call, ids, answer.clone())
    return answer
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    if (mayBePaid(error)) await keepAnswer(call, ids, renderError(error))
    else await ids.release()
    throw error
  }
}

const mayBePaid = ({ cause }: AppError): boolean =>
  cause instanceof MediaFailure && (cause.kind === 'unknown' || cause.kind === 'unreadable')

/** Does not reject: the client gets its answer. */
async function keepAnswer(call: KeyedCall, ids: RequestIds, answer: Response): Promise<void> {
  const { env, tenant } = call
  const customMetadata = { status: String(answer.status), headers: JSON.stringify([...answer.headers]) }
  try {
    await env.BLOBS?.put(answerKey(call, ids), await answer.arrayBuffer(), { customMetadata })
    await deleteOldAnswers(env, tenant.id)
  } catch (error) {
    log.warn('answer.unkept', 'An answer could not be kept for repeats of its request.', { error })
  }
}

async function deleteOldAnswers({ BLOBS }: Env, tenantId: string): Promise<void> {
  const found = await BLOBS?.list({ prefix: answerPrefix(tenantId), limit: maxDeleted })
  const old = found?.objects.filter(({ uploaded }) => clock.now() - uploaded.getTime() > claimRetentionMs) ?? []
  if (old.length) await BLOBS?.delete(old.map(({ key }) => key))
}

async function waitForAnswer(call: KeyedCall, ids: RequestIds): Promise<Response> {
  const { BLOBS } = call.env
  const end = clock.now() + (BLOBS ? waitTimeoutMs : 0)
  while (clock.now() < end) {
    const kept = await BLOBS?.get(answerKey(call, ids))
    if (kept) return replay(kept, ids)
    await clock.wait(pollMs)
  }
  throw new AppError(409, 'conflict', 'The answer to this Idempotency-Key is lost. It may have been paid.', {
    param: 'Idempotency-Key',
    headers: { 'x-should-retry': 'false' },
  })
}

function replay({ body, customMetadata = {} }: R2ObjectBody, ids: RequestIds): Response {
  const { status = '200', headers = '[]' } = customMetadata
  const kept = Object.fromEntries(JSON.parse(headers) as readonly [string, string][])
  return new Response(body, { status: Number(status), headers: { ...kept, ...replayHeaders(ids) } })
}

/** The fields and files of a form, whatever boundary separates them: a repeat has another one. */
export async function identifyForm(form: FormData): Promise<string> {
  const parts = [...form].map(async ([name, value]) =>
    value instanceof File ? [name, value.name, await sha256Base64(await value.arrayBuffer())] : [name, value],
  )
  return JSON.stringify(await Promise.all(parts))
}
