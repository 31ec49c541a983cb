/**
 * D1, R2 and the tenant's object as session objects see them, until a test cuts the line: then everything asked of them
 * fails as it does when they are away. What R2 takes, and what D1 is asked, can be held up.
 */

type Wait = () => Promise<unknown> | undefined

export const outage = {
  /** Nothing arrives at D1, and nothing comes back. */
  cut: false,
  /** The tenant's object does not answer. */
  tenantCut: false,
  /** The next batch arrives, but the answer is lost. */
  losesNextAnswer: false,
  /** What each statement and batch of D1, and each object on its way to R2, waits for. */
  beforeStatement: undefined as Wait | undefined,
  beforeBatch: undefined as Wait | undefined,
  beforePut: undefined as Wait | undefined,
  /** Statements and batches refused since the last `mend`. */
  refused: 0,
  mend() {
    Object.assign(outage, { cut: false, tenantCut: false, losesNextAnswer: false, refused: 0 })
    outage.beforeStatement = outage.beforeBatch = outage.beforePut = undefined
  },
}

const away = () => new Error('D1_ERROR: Network connection lost.')
const answers = new Set(['first', 'all', 'run', 'raw'])

function refuse(): Promise<never> {
  outage.refused++
  return Promise.reject(away())
}

/** The statements behind the proxies: a batch takes only the real ones. */
const real = new WeakMap<object, D1PreparedStatement>()

function statement(inner: D1PreparedStatement): D1PreparedStatement {
  const proxy = new Proxy(inner, {
    get(target, name) {
      if (name === 'bind') return (...values: unknown[]) => statement(target.bind(...values))
      if (outage.cut && answers.has(String(name))) return refuse
      const value: unknown = Reflect.get(target, name, target)
      if (typeof value !== 'function') return value
      const wait = answers.has(String(name)) ? outage.beforeStatement?.() : undefined
      return wait ? (...values: unknown[]) => wait.then(() => value.apply(target, values)) : value.bind(target)
    },
  })
  real.set(proxy, inner)
  return proxy
}

async function batch(db: D1Database, statements: readonly D1PreparedStatement[]) {
  if (outage.cut) return refuse()
  await outage.beforeBatch?.()
  const result = await db.batch(statements.map((one) => real.get(one) ?? one))
  if (!outage.losesNextAnswer) return result
  outage.losesNextAnswer = false
  return refuse()
}

export const breakable = (db: D1Database): D1Database =>
  new Proxy(db, {
    get(target, name) {
      if (name === 'prepare') return (query: string) => statement(target.prepare(query))
      if (name === 'batch') return (statements: readonly D1PreparedStatement[]) => batch(target, statements)
      const value: unknown = Reflect.get(target, name, target)
      return typeof value === 'function' ? value.bind(target) : value
    },
  })

/** Refuses methods of the object and of its parts. */
const unreachableTenant = new Proxy({}, { get: () => new Proxy(refuse, { get: () => refuse }) })

export const breakableTenants = (namespace: Env['TENANT']): Env['TENANT'] =>
  new Proxy(namespace, {
    get(target, name) {
      if (name === 'getByName' && outage.tenantCut) return () => unreachableTenant
      const value: unknown = Reflect.get(target, name, target)
      return typeof value === 'function' ? value.bind(target) : value
    },
  })

export const breakableBlobs = (bucket: R2Bucket): R2Bucket =>
  new Proxy(bucket, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name, target)
      if (typeof value !== 'function') return value
      if (name !== 'put') return value.bind(target)
      return async (...given: unknown[]) => {
        await outage.beforePut?.()
        return value.apply(target, given)
      }
    },
  })
