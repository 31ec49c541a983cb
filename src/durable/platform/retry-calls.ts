/**
 * Retries calls to objects that a deployment, a restart or a lost connection interrupts. A stub may be unusable after an
 * error, so every attempt gets a new one (docs/design/deployment.md#during-a-deployment).
 */

import { clock } from './clock.ts'
import { isObjectReset } from './object-reset.ts'

/** The arguments of a repetition. Undefined: the call must not be repeated, because it may have run. */
export type Repeat = (args: readonly unknown[]) => readonly unknown[] | undefined
/** The idempotent calls of a class of objects by their path, as `info.get`. `fetch` is one of them. */
export type RepeatableCalls = Readonly<Record<string, Repeat>>

const delaysMs = [100, 400, 1_600]
/** The object may still run older code, and gets the newer one when it restarts. */
const unknownMethodDelayMs = 1_000

/** True when the object runs code that does not have the method. The call did not run. */
export const isUnknownMethod = (error: unknown): boolean =>
  error instanceof TypeError && error.message.startsWith('The RPC receiver does not implement')

/** Whether another attempt may work: the connection was lost, or the object is restarted. The call may have run. */
const isRetryable = (error: unknown): boolean =>
  error instanceof Error &&
  (('retryable' in error && error.retryable === true) || isObjectReset(error)) &&
  !('overloaded' in error && error.overloaded === true)

const delayOf = (delayMs: number): number => delayMs * (0.5 + Math.random())

type Attempt<Stub, T> = (stub: Stub, args: readonly unknown[]) => Promise<T>
type RetriedCall = { readonly args: readonly unknown[]; readonly repeat: Repeat | undefined }

/** The arguments of the next attempt and the pause before it. Undefined: the error is final. */
function nextAttempt(error: unknown, { args, repeat }: RetriedCall, failures: number) {
  // A stream can be sent once.
  if (args.some((arg) => arg instanceof ReadableStream)) return undefined
  if (isUnknownMethod(error)) return failures === 1 ? { args, delayMs: unknownMethodDelayMs } : undefined
  const delayMs = delaysMs[failures - 1]
  const repeated = delayMs !== undefined && isRetryable(error) ? repeat?.(args) : undefined
  return repeated && delayMs !== undefined ? { args: repeated, delayMs } : undefined
}

async function callWithRetries<Stub, T>(stubs: () => Stub, call: RetriedCall, attempt: Attempt<Stub, T>): Promise<T> {
  let { args } = call
  for (let failures = 1; ; failures++)
    try {
      return await attempt(stubs(), args)
    } catch (error) {
      const next = nextAttempt(error, call, failures)
      if (!next) throw error
      args = next.args
      await clock.wait(delayOf(next.delayMs))
    }
}

type RemoteMethod = (...args: readonly unknown[]) => Promise<unknown>
type Subject = Readonly<Record<string, unknown>>

/** A subject and its methods by name: stubs have a member of every name. */
function callMember(stub: object, path: readonly string[], args: readonly unknown[]): Promise<unknown> {
  let subject = stub as Subject
  for (const name of path.slice(0, -1)) subject = subject[name] as Subject
  return (subject as Readonly<Record<string, RemoteMethod>>)[path.at(-1) ?? '']!(...args)
}

/** Names that a stub has itself, and `then`, because a stub that is awaited is no promise. */
const ownNames: ReadonlySet<string> = new Set(['id', 'name', 'constructor', 'then', 'connect'])

/** Wraps the stubs of an object: calls are retried as `calls` says, and those of an unknown method once. */
export function retryCalls<Stub extends object>(connect: () => Stub, calls: RepeatableCalls): Stub {
  const first = connect()
  const call = (path: readonly string[], args: readonly unknown[]) => {
    let isFirst = true
    const stubs = () => (isFirst ? ((isFirst = false), first) : connect())
    return callWithRetries(stubs, { args, repeat: calls[path.join('.')] }, (stub, given) =>
      callMember(stub, path, given),
    )
  }
  const member = (path: readonly string[]): object =>
    new Proxy(() => undefined, {
      get: (_, name) => (typeof name === 'symbol' || name === 'then' ? undefined : member([...path, name])),
      apply: (_target, _this, args: readonly unknown[]) => call(path, args),
    })
  return new Proxy(first, {
    get: (stub, name) =>
      typeof name === 'symbol' || ownNames.has(name) ? (Reflect.get(stub, name, stub) as unknown) : member([name]),
  })
}
