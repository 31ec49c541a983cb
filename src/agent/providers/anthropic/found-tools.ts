/**
 * Offers the tools that earlier searches of the transcript have found, for an API that loads a tool where a result
 * refers to it. Their definitions are deferred: the API leaves them out of the prefix that it caches.
 * https://platform.claude.com/docs/en/agents-and-tools/tool-use/tool-search-tool#custom-tool-search-implementation
 */

import type { ModelRequest, Quirks } from '#agent/core/dialect.ts'
import type { Message, ToolMessage } from '#agent/core/message.ts'
import { parseJson } from '#agent/core/parse-json.ts'
import type { ToolSchema } from '#agent/core/request/tool-schema.ts'

export type OfferedTools = {
  readonly tools: readonly ToolSchema[]
  /** In the order in which they were found, so that each request has those of the last one. */
  readonly found: readonly Omit<ToolSchema, 'search'>[]
  /** The tool whose results refer to tools. */
  readonly searchTool?: string
}

/** Without such an API, the tools stay as they are. */
export function offerFoundTools(
  tools: ModelRequest['tools'],
  transcript: readonly Message[],
  { toolReferences }: Quirks,
): OfferedTools {
  const searching = toolReferences ? tools.find(({ search }) => search) : undefined
  const search = searching?.search?.()
  if (!searching || !search) return { tools, found: [] }
  const names = new Set(tools.map(({ name }) => name))
  const found = new Map<string, OfferedTools['found'][number]>()
  for (const message of transcript) {
    if (message.role !== 'tool' || message.name !== searching.name) continue
    for (const name of readFoundTools(message)) {
      const tool = search.tools.get(name)
      // A tool of the client may have the same name. The API refuses two definitions.
      if (tool && !names.has(name)) found.set(name, tool)
    }
  }
  const offered = tools.filter(({ name }) => !search.replaced.has(name))
  return {
    tools: offered.map((tool) => (tool === searching ? describeAnew(tool, search.description) : tool)),
    found: [...found.values()],
    searchTool: searching.name,
  }
}

/** By the tool, because its definition is rendered once for each object. */
const described = new WeakMap<ToolSchema, ToolSchema>()

function describeAnew(tool: ToolSchema, description: string): ToolSchema {
  let again = described.get(tool)
  if (again === undefined) described.set(tool, (again = { ...tool, description }))
  return again
}

/** Empty for a result that failed, was shortened or found nothing. */
export function readFoundTools({ content, failed }: ToolMessage): readonly string[] {
  const [part, ...more] = content
  if (failed || more.length || part?.type !== 'text') return []
  const { tools } = (parseJson(part.text) ?? {}) as { readonly tools?: unknown }
  return typeof tools === 'object' && tools !== null ? Object.keys(tools) : []
}
