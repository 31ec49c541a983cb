/** The worker: the HTTP API and the objects behind it. */

import { createApp } from './app.ts'

const app = createApp()

export default { fetch: (request, env, context) => app.fetch(request, env, context) } satisfies ExportedHandler<Env>

export { SessionDO } from '../durable/session/session-object.ts'
export { TenantDO } from '../durable/tenant/tenant-object.ts'
