/**
 * Lets tests call `stub.part.method()` as the runtime does. The test runner puts a wrapper in front of every Durable
 * Object, and the wrapper resolves only the first name of such a path (`@cloudflare/vitest-plugin` 1.1).
 */

import { DurableObject } from 'cloudflare:workers'

type Member = ((...args: unknown[]) => unknown) & PromiseLike<Readonly<Record<string, unknown>>>

let isResolving = false

/** The wrapper's member with a property for each method that its value may have. */
const withMethods = (member: Member, wrapper: object): Member =>
  new Proxy(member, {
    getOwnPropertyDescriptor: (_, name) => ({ value: methodOf(member, name, wrapper), configurable: true }),
    get: (_, name) => (name === 'then' ? member.then : methodOf(member, name, wrapper)),
  })

/** By wrapper: resolves when the calls so far have started, since the runner may resolve names out of order. */
const started = new WeakMap<object, Promise<unknown>>()

const methodOf =
  (member: Member, name: string | symbol, wrapper: object) =>
  async (...args: unknown[]) => {
    const resolved = Promise.all([member, started.get(wrapper)])
    started.set(
      wrapper,
      resolved.catch(() => undefined),
    )
    const [part] = await resolved
    const method = part[String(name)]
    if (typeof method !== 'function') throw new TypeError(`The RPC receiver does not implement "${String(name)}".`)
    return method.apply(part, args) as unknown
  }

/** The end of each wrapper's prototype chain: reached for every name that the wrapper itself does not have. */
export const lookup = {
  get(_target: object, name: string | symbol, receiver: Readonly<Record<string, unknown>>) {
    if (isResolving || typeof name === 'symbol') return undefined
    isResolving = true
    try {
      const member = receiver[name]
      return typeof member === 'function' && 'then' in member ? withMethods(member as Member, receiver) : undefined
    } finally {
      isResolving = false
    }
  },
}

Object.setPrototypeOf(DurableObject.prototype, new Proxy(Object.prototype, lookup))
