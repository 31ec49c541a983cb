/** Defines the RPC interface of the isolate that runs the code of a plugin. */

import type { ComputeLimits } from '../isolate/protocol.ts'

/** One function of the plugin. */
export type PluginTarget =
  | { readonly kind: 'tool'; readonly name: string }
  | { readonly kind: 'hook'; readonly name: string }

export type PluginCall = {
  readonly target: PluginTarget
  /** The arguments of a tool, or the event of a hook. */
  readonly input: unknown
  /** Capabilities that are granted: `ctx` has no others. */
  readonly capabilities: readonly Capability[]
  readonly timeoutMs: number
  readonly limits: ComputeLimits
}

export type Capability = 'fetch' | 'kv' | 'llm'

/** `value`: plain data. `isOver`: the code used up its time, and the isolate is not used again. */
export type PluginAnswer = (
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly error: string; readonly isOver?: boolean }
) & {
  /** The texts that the code has logged. */
  readonly logs?: readonly string[]
}

export type PluginRequest = {
  readonly method?: string | undefined
  readonly headers?: Readonly<Record<string, string>> | undefined
  readonly body?: string | undefined
}

export type PluginResponse = {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly text: string
}

export type KvRequest =
  | { readonly do: 'get' | 'delete'; readonly key: string }
  | { readonly do: 'put'; readonly key: string; readonly value: unknown }
  | { readonly do: 'list'; readonly prefix: string }

export type LlmRequest = { readonly prompt: string; readonly system?: string; readonly max_tokens?: number }

/**
 * How often one call may use a capability. The isolate refuses more by itself: ten thousand messages between isolates at
 * once would hold up the sessions of all where they share a thread. The host counts again, because code may change its isolate.
 */
export const maxUses: Readonly<Record<Capability, number>> = { fetch: 20, kv: 200, llm: 10 }

export const explainUses = (kind: Capability): string => `One call may use ctx.${kind} only ${maxUses[kind]} times.`

/** The capabilities of a running call. After its end all of them fail. Errors are told as values. */
export type PluginHost = {
  readonly fetch: (url: string, request: PluginRequest) => Promise<UseResult<PluginResponse>>
  readonly kv: (request: KvRequest) => Promise<UseResult<unknown>>
  readonly llm: (request: LlmRequest) => Promise<UseResult<string>>
}

export type UseResult<Value> = { readonly value: Value } | { readonly error: string }
