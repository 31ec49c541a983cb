/**
 * Counts the requests to Durable Objects that the platform bills: each RPC call, each `fetch` and each alarm is one. The
 * worker of the tests and that of the benchmark wrap their bindings with it.
 */

/** The number of requests by name, such as `TENANT.access.watchWhileBusy`. */
export type RequestCounts = Map<string, number>

export const objectRequests: RequestCounts = new Map()

/** The same by the tenant whose objects were asked: test files in one process share the isolate and its alarms. */
const requestsByTenant = new Map<string, RequestCounts>()

export function requestsOf(tenantId: string): RequestCounts {
  const counts = requestsByTenant.get(tenantId) ?? new Map<string, number>()
  requestsByTenant.set(tenantId, counts)
  return counts
}

const add = (counts: RequestCounts, name: string) => void counts.set(name, (counts.get(name) ?? 0) + 1)

/** `address`: of the object, such as `t/<tenant>/s/<session>`. */
export function countRequest(name: string, address: string | undefined): void {
  add(objectRequests, name)
  const tenantId = address?.split('/')[1]
  if (tenantId !== undefined) add(requestsOf(tenantId), name)
}

type Callable = (...given: readonly unknown[]) => unknown

type CountedObject = { readonly path: string; readonly address: string | undefined }

/** A stub, a part of it or a method: what is called is counted by its path. */
function countCalls(member: object, owner: unknown, { path, address }: CountedObject): object {
  return new Proxy(member, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name, target)
      if (typeof name === 'symbol' || name === 'then' || typeof value !== 'function') return value
      return countCalls(value, target, { path: `${path}.${name}`, address })
    },
    apply(target, _self, given: readonly unknown[]) {
      countRequest(path, address)
      return Reflect.apply(target as Callable, owner, given)
    },
  })
}

/** `given`: the name of an object, or its id. */
const addressIn = (given: unknown): string | undefined =>
  typeof given === 'string' ? given : (given as DurableObjectId | undefined)?.name

/** Wraps a namespace of objects. `name`: of its binding. */
export const countNamespace = <N extends object>(namespace: N, name: string): N =>
  new Proxy(namespace, {
    get(target, method) {
      const value: unknown = Reflect.get(target, method, target)
      if (typeof value !== 'function') return value
      if (method !== 'getByName' && method !== 'get') return value.bind(target) as unknown
      return (...given: readonly unknown[]) =>
        countCalls(Reflect.apply(value, target, given) as object, undefined, {
          path: name,
          address: addressIn(given[0]),
        })
    },
  })

type Objects = { readonly SESSION: object; readonly TENANT: object }

/** Counts the requests that the holder of these bindings sends. */
export const countObjects = <E extends Objects>(env: E): E => ({
  ...env,
  SESSION: countNamespace(env.SESSION, 'SESSION'),
  TENANT: countNamespace(env.TENANT, 'TENANT'),
})

/** The ids of dynamic workers, of which each is billed once a day. One without an id is billed each time. */
export const uniqueWorkers = new Set<string>()

/** Counts the dynamic workers that a loader starts. */
export function countLoader(loader: WorkerLoader, ids = uniqueWorkers): WorkerLoader {
  return {
    get: (id, describe) => {
      ids.add(id ?? crypto.randomUUID())
      return loader.get(id, describe)
    },
    load: (code) => {
      ids.add(crypto.randomUUID())
      return loader.load(code)
    },
  } as WorkerLoader
}
