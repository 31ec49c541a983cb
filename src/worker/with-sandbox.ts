/** Entry of the worker for deployments with containers: also exports the object that owns them, with the SDK. */

import worker from './index.ts'
import { withSaving } from './save-sandboxes.ts'

export default { ...worker, fetch: withSaving(worker.fetch) } satisfies ExportedHandler<Env>
export * from './index.ts'
export { ContainerProxy } from '@cloudflare/sandbox'
export { ContainerEgress } from '#durable/workspace/container-egress.ts'
export { SandboxBox } from '#durable/workspace/sdk-sandbox-object.ts'
