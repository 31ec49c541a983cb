/** Entry of the worker for deployments with containers: also exports the object that owns them. */

export { default } from './index.ts'
export * from './index.ts'
export { ContainerProxy } from '@cloudflare/sandbox'
export { ContainerEgress } from '#durable/workspace/container-egress.ts'
export { SandboxBox } from '#durable/workspace/sandbox-object.ts'
