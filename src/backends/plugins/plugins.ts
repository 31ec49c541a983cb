/**
 * Runs the code of plugins in Worker Loader isolates: one for each plugin of a tenant and each version of its code. It
 * has neither network, secrets nor bindings, only what the host of a call offers. Always resolves with an answer.
 */

import { RpcTarget } from 'cloudflare:workers'
import { BoundedMap } from '#agent/core/bounded-map.ts'
import { compilerCode, pluginCode } from '../modules.ts'
import type { Compiled } from '../isolate/protocol.ts'
import { awaitAnswer, type IsolateEnding, openIsolate, replaceIsolate } from '../open-isolate.ts'
import type {
  Capability,
  KvRequest,
  LlmRequest,
  PluginAnswer,
  PluginCall,
  PluginHost,
  PluginRequest,
  PluginTarget,
} from './protocol.ts'

export type PluginCode = {
  readonly loader: WorkerLoader
  readonly tenantId: string
  /** Of the code and the grants. */
  readonly hash: string
  readonly source: string
}

export type PluginRun = {
  readonly target: PluginTarget
  readonly input: unknown
  readonly host: PluginHost
  readonly capabilities: readonly Capability[]
  readonly signal?: AbortSignal | undefined
}

/** Enforced only by the deployed platform; locally the limits of the guard apply. */
const isolateLimits = { cpuMs: 1_000, subRequests: 200 }
const limitsOf = {
  tool: { timeoutMs: 60_000, limits: { maxBlockingMs: 500, maxTotalMs: 3_000 } },
  hook: { timeoutMs: 5_000, limits: { maxBlockingMs: 200, maxTotalMs: 500 } },
} as const
const maxLogs = 20
const maxLogChars = 500
/** Additional time for the isolate to report its own timeout. */
const graceMs = 500

type CompilerEntrypoint = { readonly compilePlugin: (source: string) => Promise<Compiled> }
type PluginEntrypoint = {
  readonly describe: (timeoutMs: number, limits: object) => Promise<PluginAnswer>
  readonly call: (host: RemoteHost, call: PluginCall) => Promise<PluginAnswer>
}

const compiledPlugins = new BoundedMap<string, Compiled>(200)

async function compile({ loader, tenantId, hash, source }: PluginCode): Promise<Compiled> {
  const key = `${tenantId} ${hash}`
  const known = compiledPlugins.get(key)
  if (known) return known
  const isolate = { name: 'compile', code: await compilerCode(), entrypoint: 'Compiler', limits: isolateLimits }
  const compiler = await openIsolate<CompilerEntrypoint>({ loader, ...isolate, sharedBy: tenantId })
  const compiled = { ...(await compiler.compilePlugin(source)) }
  compiledPlugins.set(key, compiled)
  return compiled
}

/** Evaluates the module without any capability, and returns what it exports. */
export const describePlugin = (plugin: PluginCode): Promise<PluginAnswer> =>
  run(plugin, limitsOf.hook.timeoutMs, (entry) => entry.describe(limitsOf.hook.timeoutMs, limitsOf.hook.limits))

export async function callPlugin(plugin: PluginCode, { target, input, host, capabilities, signal }: PluginRun) {
  const { timeoutMs, limits } = limitsOf[target.kind]
  const remote = new RemoteHost(host)
  try {
    const call: PluginCall = { target, input, capabilities, timeoutMs, limits }
    return await run(plugin, timeoutMs, (entry) => entry.call(remote, call), signal)
  } finally {
    // Stubs that the code has kept do nothing any more.
    remote.end()
  }
}

async function run(
  plugin: PluginCode,
  timeoutMs: number,
  call: (entry: PluginEntrypoint) => Promise<PluginAnswer>,
  signal?: AbortSignal,
): Promise<PluginAnswer> {
  const compiled = await compile(plugin).catch((error: unknown) => ({ ok: false as const, error: String(error) }))
  if (!compiled.ok) return { ok: false, error: compiled.error }
  const { loader, tenantId, hash } = plugin
  const isolate = { name: 'plugin', sharedBy: `${tenantId}:${hash}` }
  const replace = () => replaceIsolate(isolate)
  const modules = { 'program.js': compiled.code }
  const code = await pluginCode()
  const entry = await openIsolate<PluginEntrypoint>({
    loader,
    ...isolate,
    code,
    modules,
    entrypoint: 'Plugin',
    limits: isolateLimits,
  })
  const answer = await awaitAnswer(call(entry), {
    timeoutMs: timeoutMs + graceMs,
    signal,
    answer: (ending) => endedAnswer(ending, timeoutMs),
  })
  if (!answer.ok && answer.isOver) replace()
  // Copied, because RPC results are disposed with the call.
  const logs = (answer.logs ?? []).slice(0, maxLogs).map((text) => String(text).slice(0, maxLogChars))
  return answer.ok
    ? { ok: true, value: structuredClone(answer.value), logs }
    : { ok: false, error: String(answer.error), logs }
}

function endedAnswer(ending: IsolateEnding, timeoutMs: number): PluginAnswer {
  if (ending.kind === 'interrupted') return { ok: false, error: 'Stopped by the user.', isOver: true }
  if (ending.kind === 'timeout') return { ok: false, error: `Stopped after ${timeoutMs / 1000} s.`, isOver: true }
  const reason = ending.error instanceof Error ? ending.error.message : String(ending.error)
  return { ok: false, error: `The isolate was stopped: ${reason}`, isOver: true }
}

const isOver = { error: 'The call is over.' } as const

/** Exposes the host of one call by RPC. */
class RemoteHost extends RpcTarget {
  readonly #host: PluginHost
  #hasEnded = false

  constructor(host: PluginHost) {
    super()
    this.#host = host
  }

  end(): void {
    this.#hasEnded = true
  }

  async fetch(url: string, request: PluginRequest) {
    return this.#hasEnded ? isOver : this.#host.fetch(url, request)
  }

  async kv(request: KvRequest) {
    return this.#hasEnded ? isOver : this.#host.kv(request)
  }

  async llm(request: LlmRequest) {
    return this.#hasEnded ? isOver : this.#host.llm(request)
  }
}
