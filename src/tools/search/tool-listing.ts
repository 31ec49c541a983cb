/** Lists the deferred tools within a number of tokens: with descriptions, else by name, else a line for each server. */

import type { Tool } from '#agent/core/tool.ts'
import { estimateTokens } from '#agent/prompt/estimate-tokens.ts'

const maxChars = 60

type ToolSource = { readonly toolset: string; readonly tools: readonly Tool[] }
type ListingLevel = (source: ToolSource) => string

const firstWords = (text: string): string => {
  const line = text.replace(/\s+/g, ' ').trim()
  return line.length <= maxChars ? line : `${line.slice(0, maxChars - 1).trimEnd()}…`
}

/** From the longest to the shortest form of a source. */
const levels: readonly ListingLevel[] = [
  ({ toolset, tools }) =>
    `${toolset}:\n${tools.map(({ name, description }) => `- ${name}: ${firstWords(description)}`).join('\n')}`,
  ({ toolset, tools }) => `${toolset}: ${tools.map(({ name }) => name).join(', ')}`,
  ({ toolset, tools }) => `${toolset}: ${tools.length} tools`,
]

/**
 * Each source gets the longest form that still fits. The smallest sources choose first, so that one large server does not
 * take the room of all others. Empty without room.
 */
export function renderListing(deferred: readonly Tool[], maxTokens: number): string {
  if (maxTokens <= 0) return ''
  const sources = [...Map.groupBy(deferred, ({ toolset }) => toolset)].map(([toolset, tools]) => ({ toolset, tools }))
  const sizes = sources.map((source) => levels.map((render) => estimateTokens(render(source)) + 1))
  const chosen = sources.map(() => levels.length - 1)
  const sizeOf = (at: number, level: number) => sizes[at]?.[level] ?? 0
  let used = sources.reduce((sum, _, at) => sum + sizeOf(at, levels.length - 1), 0)
  if (used > maxTokens) return renderCount(sources, deferred.length)
  const bySize = sources.map((_, at) => at).toSorted((one, other) => sizeOf(one, 0) - sizeOf(other, 0))
  for (const level of [1, 0])
    for (const at of bySize) {
      const more = sizeOf(at, level) - sizeOf(at, chosen[at] ?? 0)
      if (used + more > maxTokens) continue
      used += more
      chosen[at] = level
    }
  const lines = sources.map((source, at) => levels[chosen[at] ?? 0]?.(source) ?? '')
  return `The tools, by source:\n${lines.join('\n')}`
}

const maxNamed = 20

function renderCount(sources: readonly ToolSource[], count: number): string {
  const named = sources.slice(0, maxNamed).map(({ toolset }) => toolset)
  const more = sources.length > maxNamed ? ' and others' : ''
  return `There are ${count} tools of ${sources.length} sources: ${named.join(', ')}${more}.`
}
