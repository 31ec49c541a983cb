/**
 * Replaces a call of `tool_call` by the calls that it carries, before anything else sees the reply. From here on they are
 * calls like all others: for their schemas, rules, approvals, hooks, events and the stored transcript.
 */

import type { AssistantMessage, ToolCallPart } from '#agent/core/message.ts'
import type { Toolbox } from '#agent/core/tool.ts'
import type { OnReply } from './policy.ts'

export const searchTool = 'tool_search'
export const carrierTool = 'tool_call'
/** They stand for the deferred tools. A call of them cannot be carried. */
export const searchTools: ReadonlySet<string> = new Set([searchTool, 'tool_describe', carrierTool])

export const unwrapToolCalls: OnReply = ({ reply }, { toolbox }) => {
  if (!toolbox.has(carrierTool)) return undefined
  const content = reply.content.flatMap((part): AssistantMessage['content'] =>
    part.type === 'call' && part.name === carrierTool && part.owner === undefined ? unwrap(part, toolbox) : [part],
  )
  return { reply: { ...reply, content } }
}

/** Calls that cannot be carried stay as they are: the tool itself answers what is wrong with them. */
function unwrap(part: ToolCallPart, toolbox: Toolbox): readonly ToolCallPart[] {
  const carried = part.raw === undefined ? readCarriedCalls(part.input) : undefined
  const calls = carried?.map(({ name, input }) => ({ name: findCarriedTool(name, toolbox.keys()), input }))
  if (!calls?.length) return [part]
  return calls.map(({ name, input }, at): ToolCallPart => {
    const { id, sealed } = part
    if (at === 0) return { type: 'call', id, ...(sealed && { sealed }), ...toCall(name, input, carried?.[0]) }
    return { type: 'call', id: `${id.slice(0, 56)}_${at + 1}`, ...toCall(name, input, carried?.[at]) }
  })
}

const toCall = (name: string | undefined, input: unknown, carried: CarriedCall | undefined) =>
  name === undefined ? { name: carrierTool, input: { name: carried?.name ?? '', arguments: input } } : { name, input }

export type CarriedCall = { readonly name: string; readonly input: unknown }

/** Reads `{name, arguments}` or `{calls: [{name, arguments}]}`. Models write either of them as JSON text too. */
export function readCarriedCalls(input: unknown): readonly CarriedCall[] | undefined {
  const { name, arguments: given, calls } = asObject(input)
  const list = typeof calls === 'string' ? parse(calls) : calls
  if (Array.isArray(list)) {
    const read = list.flatMap((one) => readCarriedCalls(one) ?? [])
    return read.length === list.length && read.length > 0 ? read : undefined
  }
  if (typeof name !== 'string' || name === '') return undefined
  return [{ name, input: (typeof given === 'string' ? parse(given) : given) ?? {} }]
}

const asObject = (value: unknown): Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null ? (value as Readonly<Record<string, unknown>>) : {}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text // The tool says what it expects.
  }
}

/** The tool of this name, or the only one of a server that ends with it. */
export function findCarriedTool(name: string, names: Iterable<string>): string | undefined {
  if (searchTools.has(name)) return undefined
  const ending: string[] = []
  for (const known of names) {
    if (known === name) return known
    if (known.endsWith(`__${name}`)) ending.push(known)
  }
  return ending.length === 1 ? ending[0] : undefined
}
