/** Shapes of plugins in the API. */

export type Grants = {
  readonly fetch?: readonly string[]
  readonly secrets?: readonly { readonly name: string; readonly host: string; readonly header: string }[]
  readonly kv?: boolean
  readonly llm?: { readonly usd_per_day: number }
}
export type Plugin = {
  readonly name: string
  readonly status: 'pending' | 'active' | 'paused' | 'failed'
  readonly reason: string | null
  readonly hash: string
  readonly approved_hash: string | null
  readonly runs: boolean
  readonly grants: Grants
  readonly tools: readonly { readonly name: string; readonly tool: string; readonly description: string }[]
  readonly hooks: Readonly<Record<string, { readonly matcher: string; readonly required: boolean }>>
}
export type PluginDetail = Plugin & {
  readonly code: string
  readonly logs: readonly { readonly at: string; readonly level: 'info' | 'error'; readonly text: string }[]
}
