/**
 * Repairs the tool calls of a reply: corrects misspelled tool names, makes ids unique, and removes duplicate calls. Some
 * models send every call of a batch with the same id, or the same call several times.
 */

import type { AssistantMessage } from '#agent/core/message.ts'
import type { OnReply } from './policy.ts'
import { isClientTool, offeredTools } from '#agent/core/request/tool-schema.ts'
import { repairToolName } from './repair-tool-name.ts'

/** Calls of one reply. Each result costs a write of the whole turn. The model can ask for the others again. */
const maxCalls = 128

export const repairToolCalls: OnReply = ({ turn, reply }, { toolbox }) => {
  const { options, segments = [] } = turn
  const known = new Set([...offeredTools(options).map(({ name }) => name), ...toolbox.keys()])
  // A client finds the results of the conversation by these ids.
  const ids = new Set(segments.flatMap(({ callIds }) => callIds))
  const maxIds = ids.size + (options.parallelToolCalls === false ? 1 : maxCalls)
  const callKeys = new Set<string>()
  const content = reply.content.flatMap((part, i): AssistantMessage['content'] => {
    if (part.type !== 'call') return [part]
    if (ids.size === maxIds) return []
    const name = known.has(part.name) ? part.name : (repairToolName(part.name, known) ?? part.name)
    const key = `${name} ${part.raw ?? canonicalJson(part.input)}`
    if (callKeys.has(key)) return []
    callKeys.add(key)
    const id = uniqueId(part.id || `call_${i}`, ids)
    const owner = isClientTool(options, name) && ({ owner: 'client' } as const)
    return [{ ...part, name: name || 'invalid_tool_call', id, ...owner }]
  })
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
