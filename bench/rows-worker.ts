/**
 * The worker of the product, plus routes that return what the platform bills: rows of storage and D1, and requests to
 * objects. The benchmark starts it in place of the product's entry where it counts them; the product itself has neither
 * the counters nor the routes.
 */

import { SessionDO as Session } from '#durable/session/session-object.ts'
import { TenantDO as Tenant } from '#durable/tenant/tenant-object.ts'
import worker from '#worker/index.ts'
import {
  countLoader,
  countObjects,
  countRequest,
  objectRequests,
  uniqueWorkers,
} from '../test/support/billed-requests.ts'
import { type BilledRows, countD1, countRows, newRowCount } from '../test/support/billed-rows.ts'

export { ConnectionDO } from '#durable/channels/connection-object.ts'

/** Rows that D1 billed for statements of the worker itself. */
const workerRows = newRowCount()

const objectOf = (env: Env, session: string) =>
  env.SESSION.getByName(`t/default/s/${session}`) as unknown as { readonly billedRows: () => Promise<BilledRows> }

export default {
  async fetch(request, env, context) {
    const { pathname, searchParams } = new URL(request.url)
    if (pathname === '/api/bench/requests') {
      const counts = Object.fromEntries(objectRequests)
      objectRequests.clear()
      const workers = uniqueWorkers.size
      uniqueWorkers.clear()
      return Response.json({ counts, workers })
    }
    if (pathname !== '/api/bench/rows')
      return worker.fetch(request, { ...countObjects(env), DB: countD1(env.DB, workerRows) }, context)
    const session = searchParams.get('session')
    return Response.json(session ? await objectOf(env, session).billedRows() : { d1: workerRows })
  },
} satisfies ExportedHandler<Env>

export class SessionDO extends Session {
  readonly #rows: () => BilledRows

  constructor(ctx: DurableObjectState, env: Env) {
    const counted = countRows(ctx, env)
    super(ctx, { ...countObjects(counted.env), ...(env.LOADER && { LOADER: countLoader(env.LOADER) }) })
    this.#rows = counted.rows
  }

  override alarm(): Promise<void> {
    countRequest('SESSION alarm', this.ctx.id.name)
    return super.alarm()
  }

  billedRows(): BilledRows {
    return this.#rows()
  }
}

export class TenantDO extends Tenant {
  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, countObjects(env))
  }

  override alarm(): Promise<void> {
    countRequest('TENANT alarm', this.ctx.id.name)
    return super.alarm()
  }
}
