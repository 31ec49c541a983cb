/** Refuses a request that amounts to a tool call which its authority may not make. */

import type { OrderedAction } from '#tools/judge-action.ts'
import { AppError } from '../errors.ts'
import type { RouteCall } from '../route.ts'

/** Throws a 403. The person who sends the request orders what it does, so that nobody else has to allow it. */
export async function requireAction(
  { authority, tenant }: Pick<RouteCall<unknown, unknown>, 'authority' | 'tenant'>,
  action: OrderedAction,
  param: string,
): Promise<void> {
  const origin = { source: 'api' }
  const { judgeAction } = await import('#tools/judge-action.ts')
  const refusal = await judgeAction(action, { settings: tenant.settings, origin, authority })
  if (refusal) throw new AppError(403, 'insufficient_scope', refusal.error, { param })
}

/** Throws a 403 when the authority may not have an address fetched. */
export const requireFetch = (
  call: Pick<RouteCall<unknown, unknown>, 'authority' | 'tenant'>,
  url: string,
  param: string,
): Promise<void> => requireAction(call, { tool: 'web_extract', input: { urls: [url] }, isOrdered: true }, param)
