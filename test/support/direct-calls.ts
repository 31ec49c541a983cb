/**
 * Starts calls of objects and requests of the worker directly. The test runner asks its own object for the worker at each
 * of them, in a request that takes as long as the call itself (`@cloudflare/vitest-plugin` 1.1).
 */

import { handlerContextStore, registerGlobalWaitUntil } from 'cloudflare:test-internal'
import { DurableObject, env, WorkerEntrypoint } from 'cloudflare:workers'
import { runner } from './worker-once.ts'

type Wrapper = Readonly<Record<symbol, () => Promise<unknown>>> & { readonly ctx: ExecutionContext }
type Prototype = Record<symbol, (this: Wrapper) => Promise<unknown>> & {
  fetch: (this: Wrapper, request: Request) => Promise<Response>
}

/** Keeps the instance behind each wrapper of an object. */
function keepInstances(prototype: Prototype): void {
  const name = Object.getOwnPropertySymbols(prototype).find(({ description }) => description === 'kEnsureInstance')
  const ensure = name && prototype[name]
  if (!ensure) return
  const instances = new WeakMap<Wrapper, Promise<unknown>>()
  prototype[name] = function ensureOnce() {
    const known = instances.get(this)
    if (known) return known
    const ensured = ensure.call(this)
    instances.set(this, ensured)
    ensured.catch(() => instances.delete(this))
    return ensured
  }
}

/** Calls the worker in the request that asks for it. */
function callWorker(prototype: Prototype): void {
  const { fetch } = prototype
  prototype.fetch = async function fetchDirectly(request) {
    const { ctx } = this
    const { worker } = runner
    if (!worker) return fetch.call(this, request)
    const waitUntil = ctx.waitUntil.bind(ctx)
    ctx.waitUntil = (promise) => {
      registerGlobalWaitUntil(promise)
      waitUntil(promise)
    }
    return handlerContextStore.run(ctx, () => worker.default.fetch(request as never, env as unknown as Env, ctx))
  }
}

export const changed = new WeakSet()

/** Changes the class of each wrapper when its first instance sets its properties: the runner keeps these classes to itself. */
function changeWrappers(base: { readonly prototype: object }, change: (prototype: Prototype) => void): void {
  const set = (target: object, name: string | symbol, value: unknown, receiver: object) => {
    const prototype = Object.getPrototypeOf(receiver) as Prototype
    if (!changed.has(prototype)) {
      changed.add(prototype)
      change(prototype)
    }
    return Reflect.set(target, name, value, receiver)
  }
  Object.setPrototypeOf(base.prototype, new Proxy(Object.getPrototypeOf(base.prototype) as object, { set }))
}

changeWrappers(DurableObject, keepInstances)
changeWrappers(WorkerEntrypoint, callWorker)
