/** Entry of the worker: exports the HTTP handler and the Durable Object classes. */

import { createApp } from './app.ts'

const app = createApp()

export default { fetch: (request, env, context) => app.fetch(request, env, context) } satisfies ExportedHandler<Env>

export { SessionDO } from '../durable/session/session-object.ts'
export { TenantDO } from '../durable/tenant/tenant-object.ts'
