/**
 * The way into a turn: a place among the tenant's, and an idempotency key that is given back when nothing
 * began. Words that go into an open turn need no place: the turn has one.
 */

import type { Limits } from '../agent/model/settings.ts'
import { countsSpending } from '../durable/tenant/spending.ts'
import type { TenantSnapshot } from '../durable/tenant/tenant-snapshot.ts'
import { tenantStub } from '../durable/tenant/tenant-stub.ts'
import { AppError } from './errors.ts'
import type { Ids } from './idempotency.ts'
import { refuseOver } from './limits.ts'
import { sessionStub } from './sessions.ts'

/** `join`: only into an open turn; undefined says that there is none. */
export type Act<T> = (how: 'join' | 'begin') => Promise<{ readonly began: boolean; readonly value: T } | undefined>

/**
 * Whether something began is only certain after a refusal of ours: a connection that broke may have
 * broken afterwards. The session gives the place back at the end of the turn.
 */
export async function admitted<T>(env: Env, { id, limits }: TenantSnapshot, ids: Ids, act: Act<T>): Promise<T> {
  const tenant = isLimited(limits) ? tenantStub(env, id) : undefined
  if (tenant && (await hasRun(env, id, ids))) return (await begun(act)).value
  try {
    const joined = tenant && (await act('join'))
    if (joined) return joined.value
    if (tenant) refuseOver(await tenant.admitTurn(ids.runId))
    await limitSession(env, id, ids, limits.usd_per_session)
    const { began, value } = await begun(act)
    if (!began) await tenant?.releaseTurn(ids.runId)
    return value
  } catch (error) {
    if (error instanceof AppError) await Promise.all([tenant?.releaseTurn(ids.runId), ids.release()])
    throw error
  }
}

/** A repeat meets its own run: that has, or had, its place, and neither place nor key is given back. */
const hasRun = async (env: Env, id: string, { replayed, sessionId, runId }: Ids): Promise<boolean> =>
  replayed && Boolean(await sessionStub(env, id, sessionId).run(runId))

async function limitSession(env: Env, id: string, { sessionId }: Ids, usd: number | undefined): Promise<void> {
  if (usd !== undefined) refuseOver(await sessionStub(env, id, sessionId).admits(usd))
}

/** Only then somebody is asked. */
const isLimited = (limits: Limits): boolean =>
  countsSpending(limits) ||
  [limits.concurrent_turns, limits.storage_bytes, limits.usd_per_session].some((limit) => limit !== undefined)

async function begun<T>(act: Act<T>) {
  const result = await act('begin')
  if (!result) throw new Error('A turn that may begin is not only joined.')
  return result
}
