/** Wraps the D1, R2 and tenant bindings of session objects, so that tests can make them fail or delay their calls. */

type Wait = () => Promise<unknown> | undefined

export const outage = {
  /** D1 receives nothing, and every call fails. */
  isDatabaseDown: false,
  /** Batches of the tenant's object fail: not at all executed, or executed with their result lost. */
  tenantBatches: 'succeed' as 'succeed' | 'fail' | 'lose result',
  /** Calls of the tenant's object fail. */
  isTenantDown: false,
  /** An object that dies counts as overloaded, so that the worker does not repeat the call. */
  isOverloaded: false,
  /** D1 executes the next batch, but its result is lost. */
  dropsNextResult: false,
  /** Each statement and batch of D1 and each put and deletion of R2 waits for the returned promise. */
  beforeStatement: undefined as Wait | undefined,
  beforeBatch: undefined as Wait | undefined,
  beforePut: undefined as Wait | undefined,
  beforeDelete: undefined as Wait | undefined,
  /** Refused calls since the last `restore`. */
  refusedCount: 0,
  restore() {
    const down = { isDatabaseDown: false, isTenantDown: false, isOverloaded: false }
    Object.assign(outage, { ...down, dropsNextResult: false, refusedCount: 0 })
    outage.tenantBatches = 'succeed'
    outage.beforeStatement = outage.beforeBatch = outage.beforePut = outage.beforeDelete = undefined
  },
}

const connectionLost = () => new Error('D1_ERROR: Network connection lost.')
const resultMethods = new Set(['first', 'all', 'run', 'raw'])

function refuse(): Promise<never> {
  outage.refusedCount++
  return Promise.reject(connectionLost())
}

/** The statements behind the proxies. A batch accepts only these. */
const real = new WeakMap<object, D1PreparedStatement>()

function statement(inner: D1PreparedStatement): D1PreparedStatement {
  const proxy = new Proxy(inner, {
    get(target, name) {
      if (name === 'bind') return (...values: unknown[]) => statement(target.bind(...values))
      if (outage.isDatabaseDown && resultMethods.has(String(name))) return refuse
      const value: unknown = Reflect.get(target, name, target)
      if (typeof value !== 'function') return value
      const wait = resultMethods.has(String(name)) ? outage.beforeStatement?.() : undefined
      return wait ? (...values: unknown[]) => wait.then(() => value.apply(target, values)) : value.bind(target)
    },
  })
  real.set(proxy, inner)
  return proxy
}

async function batch(db: D1Database, statements: readonly D1PreparedStatement[]) {
  if (outage.isDatabaseDown) return refuse()
  await outage.beforeBatch?.()
  const result = await db.batch(statements.map((one) => real.get(one) ?? one))
  if (!outage.dropsNextResult) return result
  outage.dropsNextResult = false
  return refuse()
}

export const withDatabaseOutage = (db: D1Database): D1Database =>
  new Proxy(db, {
    get(target, name) {
      if (name === 'prepare') return (query: string) => statement(target.prepare(query))
      if (name === 'batch') return (statements: readonly D1PreparedStatement[]) => batch(target, statements)
      const value: unknown = Reflect.get(target, name, target)
      return typeof value === 'function' ? value.bind(target) : value
    },
  })

export const withTenantDatabaseOutage = (db: D1Database): D1Database =>
  new Proxy(db, {
    get(target, name) {
      if (name !== 'batch' || outage.tenantBatches === 'succeed') {
        const value: unknown = Reflect.get(target, name, target)
        return typeof value === 'function' ? value.bind(target) : value
      }
      return async (statements: D1PreparedStatement[]) => {
        if (outage.tenantBatches === 'lose result') await target.batch(statements)
        return refuse()
      }
    },
  })

/** Refuses methods of the object and of its parts. */
const unreachableTenant = new Proxy({}, { get: () => new Proxy(refuse, { get: () => refuse }) })

export const withTenantOutage = (namespace: Env['TENANT']): Env['TENANT'] =>
  new Proxy(namespace, {
    get(target, name) {
      if (name === 'getByName' && outage.isTenantDown) return () => unreachableTenant
      const value: unknown = Reflect.get(target, name, target)
      return typeof value === 'function' ? value.bind(target) : value
    },
  })

/** The error with which the test runner resets all objects has none of the fields that the platform's has. */
const markReset = (error: unknown): never => {
  if (outage.isOverloaded && error instanceof Error) Object.assign(error, { overloaded: true })
  const isReset = error instanceof Error && error.message.includes('abortAllDurableObjects')
  throw isReset ? Object.assign(error, { remote: true, retryable: true, durableObjectReset: true }) : error
}

type Members = Readonly<Record<string | symbol, unknown>>

/** Makes errors of reset objects look as those of a deployment. */
export const withDeployments = <Namespace extends Env['TENANT'] | Env['SESSION']>(namespace: Namespace): Namespace =>
  new Proxy(namespace, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name, target)
      if (name !== 'getByName') return typeof value === 'function' ? value.bind(target) : value
      return (id: string) => markCalls(target.getByName(id))
    },
  })

const own = new Set<string | symbol>(['id', 'name', 'constructor', 'then'])

const markCalls = <Stub extends object>(stub: Stub): Stub => {
  const member = (subject: Members, name: string | symbol): object =>
    new Proxy(() => undefined, {
      get: (_, next) => (next === 'then' ? undefined : member(subject[name] as Members, next)),
      apply: (_target, _this, args: readonly unknown[]) => {
        const method = subject as Readonly<Record<string | symbol, (...given: readonly unknown[]) => Promise<unknown>>>
        return method[name]!(...args).catch(markReset)
      },
    })
  return new Proxy(stub, {
    get: (target, name) =>
      typeof name === 'symbol' || own.has(name)
        ? (Reflect.get(target, name, target) as unknown)
        : member(target as Members, name),
  })
}

export const withSlowBlobs = (bucket: R2Bucket): R2Bucket =>
  new Proxy(bucket, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name, target)
      if (typeof value !== 'function') return value
      if (name !== 'put' && name !== 'delete') return value.bind(target)
      return async (...given: unknown[]) => {
        await (name === 'put' ? outage.beforePut : outage.beforeDelete)?.()
        return value.apply(target, given)
      }
    },
  })
