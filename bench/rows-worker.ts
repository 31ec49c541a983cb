/**
 * The worker of the product, plus a route that returns the rows that storage and D1 bill. The benchmark starts it in
 * place of the product's entry where it counts rows; the product itself has neither the counters nor the route.
 */

import { SessionDO as Session } from '#durable/session/session-object.ts'
import worker from '#worker/index.ts'
import { type BilledRows, countD1, countRows, newRowCount } from '../test/support/billed-rows.ts'

export { ConnectionDO } from '#durable/channels/connection-object.ts'
export { TenantDO } from '#durable/tenant/tenant-object.ts'

/** Rows that D1 billed for statements of the worker itself. */
const workerRows = newRowCount()

const objectOf = (env: Env, session: string) =>
  env.SESSION.getByName(`t/default/s/${session}`) as unknown as { readonly billedRows: () => Promise<BilledRows> }

export default {
  async fetch(request, env, context) {
    const { pathname, searchParams } = new URL(request.url)
    if (pathname !== '/api/bench/rows')
      return worker.fetch(request, { ...env, DB: countD1(env.DB, workerRows) }, context)
    const session = searchParams.get('session')
    return Response.json(session ? await objectOf(env, session).billedRows() : { d1: workerRows })
  },
} satisfies ExportedHandler<Env>

export class SessionDO extends Session {
  readonly #rows: () => BilledRows

  constructor(ctx: DurableObjectState, env: Env) {
    const counted = countRows(ctx, env)
    super(ctx, counted.env)
    this.#rows = counted.rows
  }

  billedRows(): BilledRows {
    return this.#rows()
  }
}
