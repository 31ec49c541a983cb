declare module 'cloudflare:test-internal' {
  import type { AsyncLocalStorage } from 'node:async_hooks'

  export const handlerContextStore: AsyncLocalStorage<ExecutionContext>
  export function registerGlobalWaitUntil(promise: Promise<unknown>): void
}
