/**
 * Runs the functions of one plugin. The isolate is shared by the calls of a tenant, but each call evaluates the module
 * anew, with a guard of its own: nothing is left of an earlier call, except in the store.
 */

import { WorkerEntrypoint } from 'cloudflare:workers'
import { createGuard, type ProgramGuard } from '../../isolate/inside/guard.ts'
import { countSpread, limitBuiltIns, resetMemory } from '../../isolate/inside/limit-built-ins.ts'
import { formatError, formatValue } from '../../isolate/inside/output.ts'
import type { ComputeLimits } from '../../isolate/protocol.ts'
import {
  type Capability,
  explainUses,
  maxUses,
  type KvRequest,
  type LlmRequest,
  type PluginAnswer,
  type PluginCall,
  type PluginHost,
  type PluginRequest,
  type PluginTarget,
  type UseResult,
} from '../protocol.ts'

type Exported = { readonly run?: unknown; readonly [field: string]: unknown }
type PluginModule = { readonly tools?: unknown; readonly hooks?: unknown }

type CompiledPlugin = {
  readonly default: (injected: {
    readonly tick: ProgramGuard['tick']
    readonly pause: ProgramGuard['pause']
    readonly load: () => never
    readonly counted: typeof countSpread
  }) => Promise<PluginModule>
}

const maxAnswerChars = 1_000_000
const maxLogs = 20
const maxLogChars = 500
/** All that a call allocates. A deployed isolate has 128 MB at once. */
const maxCallBytes = 400 * 1024 * 1024
/** A method of a large array cannot be interrupted. The largest thing that a plugin gets is an answer of 2 MB. */
const maxBytesAtOnce = 16 * 1024 * 1024
/** Saved, because the plugin may replace them. */
const later = setTimeout
const cancel = clearTimeout
const parse = JSON.parse.bind(JSON)
const stringify = JSON.stringify.bind(JSON)
let running = 0
let isPrepared = false

export class Plugin extends WorkerEntrypoint {
  /** Returns what the module exports, with `true` in place of functions. Nothing of it is called. */
  describe(timeoutMs: number, limits: ComputeLimits): Promise<PluginAnswer> {
    return guarded({ timeoutMs, limits }, async (plugin) => {
      const { tools, hooks } = plugin
      return parse(stringify({ tools, hooks }, (_key, value: unknown) => (typeof value === 'function' ? true : value)))
    })
  }

  call(host: PluginHost, call: PluginCall): Promise<PluginAnswer> {
    return guarded(call, (plugin, logs) => {
      const found = findFunction(plugin, call.target)
      if (!found) throw new Error(`There is no ${call.target.kind} ${call.target.name}.`)
      return Promise.resolve(Reflect.apply(found.run, found.owner, [call.input, createContext(host, call, logs)]))
    })
  }
}

type GuardedCall = Pick<PluginCall, 'timeoutMs' | 'limits'>

async function guarded(
  { timeoutMs, limits }: GuardedCall,
  work: (plugin: PluginModule, logs: string[]) => Promise<unknown>,
): Promise<PluginAnswer> {
  prepareGlobals()
  const logs: string[] = []
  if (running++ === 0) resetMemory(maxCallBytes, maxBytesAtOnce)
  const { promise: ended, resolve: end } = Promise.withResolvers<PluginAnswer>()
  const guard = createGuard(limits, (error) => end({ ok: false, error, isOver: true }))
  const timer = later(() => guard.end(`Stopped after ${timeoutMs / 1000} s.`), timeoutMs)
  const run = async (): Promise<PluginAnswer> => {
    const module = (await import('program.js' as string)) as CompiledPlugin
    const { tick, pause } = guard
    const plugin = await module.default({ tick, pause, load: refuseImport, counted: countSpread })
    return toAnswer(await work(plugin, logs))
  }
  try {
    const failed = (error: unknown): PluginAnswer => ({ ok: false, error: describe(error) })
    return { ...(await Promise.race([ended, run().catch(failed)])), logs }
  } finally {
    // Code that still runs throws at its next step.
    guard.end('The call is over.')
    cancel(timer)
    running--
  }
}

const describe = (error: unknown): string => formatError(error).slice(0, 2_000)

const refuseImport = (): never => {
  throw new Error('A plugin imports nothing.')
}

/** Copied, because only plain data can leave. */
function toAnswer(value: unknown): PluginAnswer {
  if (value === undefined) return { ok: true, value: null }
  let text: string | undefined
  try {
    text = stringify(value)
  } catch {
    return { ok: false, error: `The answer must be plain data, not ${formatValue(value)}.`.slice(0, 500) }
  }
  if (text === undefined) return { ok: false, error: 'The answer must be plain data.' }
  if (text.length > maxAnswerChars) return { ok: false, error: 'The answer is larger than 1 MB.' }
  return { ok: true, value: parse(text) as unknown }
}

type PluginFunction = (...args: readonly unknown[]) => unknown

function findFunction({ tools, hooks }: PluginModule, { kind, name }: PluginTarget) {
  const owner =
    kind === 'tool'
      ? (tools as readonly Exported[] | undefined)?.find((tool) => tool.name === name)
      : Object.hasOwn(hooks ?? {}, name) && (hooks as Readonly<Record<string, Exported>>)[name]
  if (!owner || typeof owner.run !== 'function') return undefined
  return { owner, run: owner.run as PluginFunction }
}

/** The capabilities of a plugin: what was not granted is not there. */
function createContext(host: PluginHost, { capabilities }: PluginCall, logs: string[]): object {
  const has = new Set(capabilities)
  const left: Record<Capability, number> = { ...maxUses }
  const use = <Value>(kind: Capability, ask: () => Promise<UseResult<Value>>): Promise<Value> =>
    left[kind]-- > 0 ? open(ask()) : Promise.reject(new Error(explainUses(kind)))
  const kv = (request: KvRequest) => use('kv', () => host.kv(request))
  return Object.freeze({
    log: (...values: readonly unknown[]) => {
      if (logs.length < maxLogs) logs.push(values.map(formatValue).join(' ').slice(0, maxLogChars))
    },
    ...(has.has('fetch') && {
      fetch: async (url: unknown, init: PluginRequest = {}) =>
        createResponse(await use('fetch', () => host.fetch(String(url), clean(init)))),
    }),
    ...(has.has('kv') && {
      kv: Object.freeze({
        get: (key: unknown) => kv({ do: 'get', key: String(key) }),
        put: (key: unknown, value: unknown) =>
          kv({ do: 'put', key: String(key), value: parse(stringify(value ?? null)) }),
        delete: (key: unknown) => kv({ do: 'delete', key: String(key) }),
        list: (prefix: unknown = '') => kv({ do: 'list', prefix: String(prefix) }),
      }),
    }),
    ...(has.has('llm') && {
      llm: (request: unknown) =>
        use('llm', () => host.llm(typeof request === 'string' ? { prompt: request } : (request as LlmRequest))),
    }),
  })
}

async function open<Value>(telling: Promise<UseResult<Value>>): Promise<Value> {
  const told = await telling
  if ('error' in told) throw new Error(told.error)
  return told.value
}

const clean = ({ method, headers = {}, body }: PluginRequest): PluginRequest => ({
  ...(method !== undefined && { method: String(method) }),
  headers: Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)])),
  ...(body !== undefined && { body: typeof body === 'string' ? body : stringify(body) }),
})

const createResponse = ({
  status,
  headers,
  text,
}: {
  status: number
  headers: Readonly<Record<string, string>>
  text: string
}) => ({
  status,
  ok: status >= 200 && status < 300,
  headers: { ...headers },
  text: async () => text,
  json: async () => parse(text) as unknown,
})

/** Once for the isolate. What a plugin prints goes nowhere: `ctx.log` is for that. */
function prepareGlobals(): void {
  if (isPrepared) return
  isPrepared = true
  for (const kind of ['log', 'info', 'warn', 'error', 'debug', 'dir', 'table', 'trace'])
    Reflect.set(console, kind, () => undefined)
  limitBuiltIns()
}
