/** Describes the plugins of a tenant: what their code offers, what it may use, and what its hooks are called for. */

import { decidingHooks, type HookName, observers } from '#agent/core/hook.ts'
import { matchesWildcard } from '#agent/policy/wildcard.ts'

export type PluginGrants = {
  /** Hosts that its code may call by https. */
  readonly fetch?: readonly string[] | undefined
  /** Secrets of the tenant that are added to requests to one host. The code never sees them. */
  readonly secrets?: readonly SecretGrant[] | undefined
  /** A store of its own. */
  readonly kv?: boolean | undefined
  /** Model calls, up to this cost in a day. */
  readonly llm?: { readonly usd_per_day: number } | undefined
}

export type SecretGrant = {
  readonly name: string
  readonly host: string
  readonly header: string
  /** Stands before the value, such as `Bearer `. */
  readonly prefix?: string | undefined
}

export type PluginTool = {
  readonly name: string
  readonly description: string
  readonly input_schema: Readonly<Record<string, unknown>>
  /** It changes nothing elsewhere. A person has approved the code that says so. */
  readonly read_only?: true
}

export type PluginHook = {
  /** Patterns of tool names, separated by `|`. */
  readonly matcher: string
  /** A call is blocked when the hook fails. */
  readonly required: boolean
}

export type PluginManifest = {
  readonly tools: readonly PluginTool[]
  readonly hooks: Readonly<Partial<Record<HookName, PluginHook>>>
}

export const maxCodeBytes = 256 * 1024
const maxTools = 100
const maxMatcherChars = 1_000
const hookNames: readonly string[] = [...decidingHooks, ...observers]

type Parsed = { readonly manifest: PluginManifest } | { readonly error: string }
type Fields = Readonly<Record<string, unknown>>

const isFields = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Reads what the code of a plugin exports, as its isolate has described it. `raw` comes from that code. */
export function readManifest(raw: unknown): Parsed {
  const { tools: listed = [], hooks: given = {} } = isFields(raw) ? raw : {}
  if (!Array.isArray(listed) || !isFields(given)) return { error: '`tools` is a list, and `hooks` an object.' }
  if (listed.length > maxTools) return { error: `A plugin may have ${maxTools} tools.` }
  const tools = listed.map(readTool)
  const hooks = Object.entries(given).map(([name, hook]) => readHook(name, hook))
  const wrong = [...tools, ...hooks].find((one) => typeof one === 'string')
  if (wrong !== undefined) return { error: wrong as string }
  const manifest = {
    tools: tools as readonly PluginTool[],
    hooks: Object.fromEntries(hooks as readonly (readonly [HookName, PluginHook])[]),
  }
  const names = new Set(manifest.tools.map(({ name }) => name))
  if (names.size < tools.length) return { error: 'Two tools have the same name.' }
  return names.size || hooks.length ? { manifest } : { error: 'It exports neither `tools` nor `hooks`.' }
}

function readTool(raw: unknown): PluginTool | string {
  const { name, description, input_schema: schema, read_only: isReadOnly } = isFields(raw) ? raw : {}
  if (typeof name !== 'string' || !/^[A-Za-z0-9_]{1,40}$/.test(name))
    return 'A tool needs a `name` of at most 40 letters, digits and underscores.'
  if (typeof description !== 'string' || !description.trim()) return `The tool ${name} needs a \`description\`.`
  if (!isFields(schema) || schema['type'] !== 'object')
    return `The tool ${name} needs an \`input_schema\` with the type object.`
  if (!isFields(raw) || raw['run'] !== true) return `The tool ${name} needs a function \`run\`.`
  return { name, description, input_schema: schema, ...(isReadOnly === true && { read_only: true }) }
}

function readHook(name: string, raw: unknown): readonly [string, PluginHook] | string {
  if (!hookNames.includes(name)) return `There is no hook ${name.slice(0, 60)}. There are: ${hookNames.join(', ')}.`
  const { matcher = '*', required = false, run } = isFields(raw) ? raw : {}
  if (run !== true) return `The hook ${name} needs a function \`run\`.`
  if (typeof matcher !== 'string' || matcher.length > maxMatcherChars)
    return `The matcher of ${name} must be a text such as "terminal|mcp__*".`
  if (required === true && name !== 'pre_tool_call') return 'Only pre_tool_call can be required.'
  return [name, { matcher, required: required === true }]
}

/** Whether a hook is called for a tool. Hooks without a tool get an empty name, which only `*` matches. */
export const matchesTool = (matcher: string, tool: string): boolean =>
  matcher.split('|').some((pattern) => matchesWildcard(pattern.trim(), tool))

/** The text that the hash of a plugin covers: other grants are another plugin. */
export const renderForHash = (code: string, grants: PluginGrants): string => {
  const { fetch = [], secrets = [], kv = false, llm } = grants
  const named = secrets.map(({ name, host, header, prefix = '' }) => [name, host, header, prefix])
  return JSON.stringify([code, fetch.toSorted(), named, kv, llm?.usd_per_day ?? 0])
}

/** Whether a plugin guards calls: without it more could run. */
export const isGuard = ({ hooks }: PluginManifest): boolean => hooks.pre_tool_call?.required === true

const maxPluginChars = 64

export const pluginToolset = (plugin: string): string => `plugin-${plugin}`
/** Names are short enough by themselves: 8 + 14 + 2 + 40. */
export const pluginToolName = (plugin: string, tool: string): string =>
  `plugin__${plugin}__${tool}`.slice(0, maxPluginChars)
export const pluginName = /^[a-z0-9][a-z0-9-]{0,13}$/
