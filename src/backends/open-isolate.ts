/**
 * Starts isolates of the Worker Loader, which have neither network nor secrets, and waits for their answers: at most for
 * a time, and also when the platform ends one.
 */

import { BoundedMap } from '#agent/core/bounded-map.ts'
import { log } from '#agent/core/log.ts'
import { enterIsolate } from './isolate-queue.ts'
import { withTimeout } from '#durable/platform/timeout.ts'

export type IsolateCode = {
  readonly loader: WorkerLoader
  /** The name of the main module. */
  readonly name: string
  readonly code: string
  /** Modules beside the main one. */
  readonly modules?: Readonly<Record<string, WorkerLoaderModule | string>>
  readonly entrypoint: string
  readonly limits: { readonly cpuMs: number; readonly subRequests: number }
  /** A session or tenant whose calls share one isolate. Without it the isolate is new, and billed as a new one. */
  readonly sharedBy?: string
}

/** Suffixes for the ids of isolates that did not answer, by name and owner: their next call gets another isolate. */
const replacements = new BoundedMap<string, string>(1_000)

/** Ends the sharing of an isolate that crashed or still works on something that nobody waits for. */
export function replaceIsolate({ name, sharedBy = '' }: Pick<IsolateCode, 'name' | 'sharedBy'>): void {
  replacements.set(`${name}:${sharedBy}`, `:${crypto.randomUUID().slice(0, 8)}`)
}

/**
 * Returns the entry point of the isolate for one call, as soon as the object may use another isolate. The result of the
 * call has to be copied: RPC disposes it with the call.
 */
export async function openIsolate<Entrypoint extends object>(options: IsolateCode): Promise<Entrypoint> {
  const { loader, sharedBy, entrypoint, ...isolate } = options
  const { name, code, modules, limits } = isolate
  const describe = () => ({
    compatibilityDate: '2026-10-20',
    compatibilityFlags: ['nodejs_compat'],
    mainModule: `${name}.js`,
    modules: { [`${name}.js`]: code, ...modules },
    globalOutbound: null,
    limits,
  })
  // The first line of the code is a hash of the rest: a new build never meets an isolate of the old one.
  const replacement = replacements.get(`${name}:${sharedBy}`) ?? ''
  const id = sharedBy === undefined ? undefined : `${name}:${code.slice(3, 19)}:${sharedBy}${replacement}`
  const end = await enterIsolate(loader, id ?? crypto.randomUUID())
  const worker = id === undefined ? loader.load(describe()) : loader.get(id, describe)
  return endingAfterCall(worker.getEntrypoint(entrypoint) as unknown as Entrypoint, end)
}

type Method = (...args: readonly unknown[]) => Promise<unknown>

/** Calls `end` after the call, also when nobody waits for it any more. */
function endingAfterCall<Entrypoint extends object>(entry: Entrypoint, end: (() => void) | undefined): Entrypoint {
  return new Proxy({} as Entrypoint, {
    get: (_, name) => {
      // The entry point of RPC has every name, so a promise would wait for its answer.
      if (name === 'then') return undefined
      return (...args: readonly unknown[]) => {
        const answer = (entry as Record<string | symbol, Method>)[name]?.(...args)
        if (end) answer?.then(end, end)
        return answer
      }
    },
  })
}

export type IsolateEnding =
  | { readonly kind: 'timeout' }
  | { readonly kind: 'interrupted' }
  | { readonly kind: 'crashed'; readonly error: unknown }

export type Waiting<T> = {
  readonly timeoutMs: number
  readonly signal?: AbortSignal | undefined
  /** Asks the work to stop. It may still answer within `graceMs`. */
  readonly onAbort?: () => void
  readonly graceMs?: number
  /** Makes the answer when the work gave none. */
  readonly answer: (ending: IsolateEnding) => T
}

/** Waits for an answer of an isolate, or of its code that runs inside the Durable Object. Never rejects. */
export async function awaitAnswer<T>(work: Promise<T>, waiting: Waiting<T>): Promise<T> {
  const { timeoutMs, signal, onAbort, graceMs = 0, answer } = waiting
  const { promise: aborted, resolve: abort } = Promise.withResolvers<'aborted'>()
  const onSignal = () => {
    onAbort?.()
    abort('aborted')
  }
  const answering = work.catch((error: unknown) => answer({ kind: 'crashed', error }))
  signal?.addEventListener('abort', onSignal, { once: true })
  if (signal?.aborted) onSignal()
  try {
    const first = Promise.race([answering, aborted])
    const found = await withTimeout(first, timeoutMs, () => answer({ kind: 'timeout' }))
    if (found !== 'aborted') return found
    const interrupted = () => answer({ kind: 'interrupted' })
    return graceMs ? await withTimeout(answering, graceMs, interrupted) : interrupted()
  } finally {
    signal?.removeEventListener('abort', onSignal)
  }
}

/** Logs that the platform ended an isolate, which used too much time or memory. `task` completes "The isolate that". */
export function logCrash(ending: IsolateEnding, task: string): void {
  if (ending.kind === 'crashed')
    log.error('isolate.crashed', `The isolate that ${task} crashed.`, { error: ending.error })
}

/** Sends bytes as a stream, because they may be larger than one RPC message. */
export const streamOf = (bytes: Uint8Array) =>
  new Response(bytes as Uint8Array<ArrayBuffer>).body as ReadableStream<Uint8Array>
