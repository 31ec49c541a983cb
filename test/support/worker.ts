/** The worker of the tests inside workerd: the product's worker, plus classes that only tests use. */

import { SessionDO as Session } from '#durable/session/session-object.ts'
import { TenantDO as Tenant } from '#durable/tenant/tenant-object.ts'
import worker from '#worker/index.ts'
import { countObjects, countRequest } from './billed-requests.ts'
import { type BilledRows, countRows } from './billed-rows.ts'
import { deployment } from './deployment.ts'
import {
  withDatabaseOutage,
  withDeployments,
  withSlowBlobs,
  withTenantDatabaseOutage,
  withTenantOutage,
} from './outage.ts'

export { FilesObject } from '../backends/support/files-object.ts'
export { ConnectionDO } from '#durable/channels/connection-object.ts'
export { TenantWithJobs } from '../durable/tenant/fake-jobs.ts'

// An import that begins in an object which a test evicts never ends for others.
await Promise.all([
  import('#db/search/search.ts'),
  import('#db/search/word-forms.ts'),
  import('#tools/search-sessions.ts'),
  import('#agent/providers/errors/classify-error.ts'),
  import('#backends/virtual/search.ts'),
  import('#durable/tenant/jobs/check-change.ts'),
  import('#durable/tenant/jobs/run-job.ts'),
  import('#durable/tenant/mcp/servers.ts'),
  import('#durable/tenant/jobs/deliver-result.ts'),
  import('#durable/tenant/vault/vault-rows.ts'),
  import('#tools/browser/ask-person.ts'),
  import('#durable/turn/prompt/memory-layers.ts'),
  import('#durable/tenant/fixes/stored-fixes.ts'),
  import('#durable/turn/find-fix.ts'),
  import('#tools/browser/browser-files.ts'),
  import('#tools/search-sessions.ts'),
  import('#tools/terminal/process-actions.ts'),
  import('#durable/session/copies/copy-session.ts'),
  import('#durable/session/rpc/subagent-tree.ts'),
  import('#durable/session/copies/trajectories.ts'),
  import('#durable/tenant/trajectories.ts'),
  import('#durable/models/call-subscribed.ts'),
  import('#durable/tenant/subscriptions/renew-tokens.ts'),
  import('#durable/session/subagents/deliver-results.ts'),
  import('#durable/turn/dispatch-nested.ts'),
  import('#tools/code/run-program.ts'),
  import('#durable/session/subagents/questions.ts'),
  import('#durable/channels/progress-display.ts'),
  import('#durable/channels/decide-draft.ts'),
  import('#durable/channels/outbound-file.ts'),
  import('#durable/channels/fit-buttons.ts'),
  import('#durable/session/self-started/goal-work.ts'),
  import('#durable/session/self-started/change-goal.ts'),
])

const bound = () => ({
  ...(deployment.ai && { AI: deployment.ai as unknown as Ai }),
  // A page asks the session for mapped hosts, which the browsers of tests cannot do.
  ...(deployment.browser && { BROWSER: deployment.browser as Fetcher, WEB_HOST_MAP: '' }),
})

export default {
  fetch: (request, env, context) => {
    const { SESSION, TENANT } = countObjects(env)
    const objects = { SESSION: withDeployments(SESSION), TENANT: withDeployments(TENANT) }
    return worker.fetch(request, { ...env, ...objects, ...bound() }, context)
  },
  email: (message, env, context) => worker.email(message, env, context),
} satisfies ExportedHandler<Env>

/** The tenant's object of the product. Tests can fail its database (outage.ts) and lower its limit of sockets. */
export class TenantDO extends Tenant {
  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, { ...countObjects(env), DB: withTenantDatabaseOutage(env.DB) })
  }

  protected override get maxEventSockets(): number {
    return deployment.maxEventSockets ?? super.maxEventSockets
  }
}

/** The session object of the product. Tests can fail its bindings (outage.ts) and count its rows (billed-rows.ts). */
export class SessionDO extends Session {
  readonly billedRows: () => BilledRows

  constructor(ctx: DurableObjectState, env: Env) {
    const { auxModel = env.AUX_MODEL } = deployment
    const blobs = env.BLOBS && { BLOBS: withSlowBlobs(env.BLOBS) }
    const counted = countRows(ctx, env)
    const objects = countObjects(env)
    const outside = {
      DB: withDatabaseOutage(counted.env.DB),
      SESSION: withDeployments(objects.SESSION),
      TENANT: withTenantOutage(withDeployments(objects.TENANT)),
      ...blobs,
      ...bound(),
    }
    super(ctx, { ...env, ...outside, ...(auxModel !== undefined && { AUX_MODEL: auxModel }) })
    this.billedRows = counted.rows
  }

  override alarm(): Promise<void> {
    countRequest('SESSION alarm', this.ctx.id.name)
    return super.alarm()
  }
}
