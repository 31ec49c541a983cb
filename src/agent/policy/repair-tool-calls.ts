/**
 * Repairs the tool calls of a reply: corrects misspelled tool names, makes ids unique, and removes duplicate calls of our
 * tools. Some models send every call of a batch with the same id, or the same call several times.
 */

import type { AssistantMessage } from '#agent/core/message.ts'
import { giveUp } from './give-up.ts'
import type { OnReply } from './policy.ts'
import { isClientTool, offeredTools } from '#agent/core/request/tool-schema.ts'

/** Calls of one reply. Each result costs a write of the whole turn. */
export const maxCalls = 128

export const repairToolCalls: OnReply = ({ turn, reply }, { toolbox, now }) => {
  const { options, segments = [] } = turn
  const listNames = () => [...offeredTools(options).map(({ name }) => name), ...toolbox.keys()]
  const isKnown = (name: string) => toolbox.has(name) || isClientTool(options, name)
  // A client finds the results of the conversation by these ids.
  const ids = new Set(segments.flatMap(({ callIds }) => callIds))
  const maxIds = options.parallelToolCalls === false ? ids.size + 1 : Infinity
  const callKeys = new Set<string>()
  const content = reply.content.flatMap((part, i): AssistantMessage['content'] => {
    if (part.type !== 'call') return [part]
    if (ids.size === maxIds) return []
    const name = isKnown(part.name) ? part.name : (repairToolName(part.name, listNames()) ?? part.name)
    const owner = isClientTool(options, name) && ({ owner: 'client' } as const)
    const key = `${name} ${part.raw ?? canonicalJson(part.input)}`
    // The client may mean two equal calls: to roll a die twice.
    if (!owner && callKeys.has(key)) return []
    callKeys.add(key)
    const id = uniqueId(part.id || `call_${i}`, ids)
    return [{ ...part, name: name || 'invalid_tool_call', id, ...owner }]
  })
  const ofClient = content.filter((part) => part.type === 'call' && part.owner === 'client').length
  if (ofClient > maxCalls)
    return { commit: giveUp(turn, { kind: 'too-many-calls', message: `${ofClient} of at most ${maxCalls}` }, now) }
  return { reply: { ...reply, content } }
}

function uniqueId(id: string, used: Set<string>): string {
  let free = id
  for (let n = 2; used.has(free); n++) free = `${id}_d${n}`
  used.add(free)
  return free
}

/** Encodes equal values as the same JSON, independent of the order of keys. */
function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null'
  const entries = Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1))
  return `{${entries.map(([key, part]) => `${JSON.stringify(key)}:${canonicalJson(part)}`).join(',')}}`
}

const minSimilarity = 0.7
/** A longer name is not a misspelled one. */
const maxNameChars = 200

/** Finds the existing tool that a model most likely meant by an unknown name. */
export function repairToolName(name: string, toolNames: Iterable<string>): string | undefined {
  if (name.length > maxNameChars) return undefined
  const names = [...toolNames]
  const has = new Set(names)
  for (const candidate of candidates(name)) if (has.has(candidate)) return candidate
  const plain = plainForm(name)
  const owner = ownerOf(plain)
  let best: { readonly name: string; readonly score: number } | undefined
  for (const one of names) {
    if (owner !== undefined && ownerOf(plainForm(one)) !== owner) continue
    const score = similarity(plain, one)
    if (score >= minSimilarity && score > (best?.score ?? 0)) best = { name: one, score }
  }
  return best?.name
}

/** Of a tool of an MCP server or a plugin. A tool of the same name at another one is another tool. */
const ownerOf = (name: string): string | undefined => /^(?:mcp|plugin)__.+?__/.exec(name)?.[0]

function* candidates(name: string): Generator<string> {
  yield name.trim()
  const cut = name.split(/["'<>(\s]/)[0] ?? ''
  yield cut
  const plain = plainForm(cut)
  yield plain
  const once = withoutTool(plain)
  yield once
  yield withoutTool(once)
}

const withoutTool = (name: string) => name.replace(/_?tool$/, '').replace(/^tool_?/, '')

const plainForm = (name: string) =>
  name
    .trim()
    .replace(/([a-z0-9])([A-Z])/g, '$1_$2')
    .toLowerCase()
    .replace(/[-\s.]+/g, '_')

/** Computes the share of common letter pairs (Dice coefficient), 0 to 1. */
function similarity(a: string, b: string): number {
  const [pairsA, pairsB] = [pairs(a), pairs(b)]
  let shared = 0
  for (const [pair, times] of pairsA) shared += Math.min(times, pairsB.get(pair) ?? 0)
  const all = Math.max(1, a.length - 1 + b.length - 1)
  return (2 * shared) / all
}

function pairs(text: string): Map<string, number> {
  const found = new Map<string, number>()
  for (let i = 0; i + 1 < text.length; i++) {
    const pair = text.slice(i, i + 2)
    found.set(pair, (found.get(pair) ?? 0) + 1)
  }
  return found
}
