/**
 * Replaces the schemas of many tools by three: `tool_search` finds the deferred tools, `tool_describe` shows
 * their schemas, `tool_call` carries their calls. The deferred tools stay in the toolbox, so each call of one is judged
 * by its own name.
 */

import * as z from 'zod'
import type { Settings } from '#agent/core/settings.ts'
import type { Tool, Toolbox } from '#agent/core/tool.ts'
import { findCarriedTool, readCarriedCalls, searchTool, searchTools } from '#agent/policy/unwrap-tool-calls.ts'
import { estimateTokens } from '#agent/prompt/estimate-tokens.ts'
import { defineSchemaTool, defineTool } from '../define-tool.ts'
import { fail, type ToolAnswer } from '../tool-result.ts'
import { createRanking, type Ranking } from './rank-tools.ts'
import { renderListing } from './tool-listing.ts'
import { hasLatin } from './words.ts'

export type ToolSearchSettings = NonNullable<NonNullable<Settings['tools']>['tool_search']>

export type DeferOptions = {
  readonly settings: ToolSearchSettings | undefined
  /** Tokens of the context window. */
  readonly window: number
}

export type DeferredTools = {
  /** The three tools. */
  readonly search: readonly Tool[]
  readonly isDeferred: (name: string) => boolean
}

export type DeferTools = (
  toolbox: Toolbox,
  tenantTools: readonly Tool[],
  options: DeferOptions,
) => DeferredTools | undefined

const defaultLimit = 5

const choose = (settings: ToolSearchSettings = {}) => ({
  enabled: settings.enabled ?? 'auto',
  thresholdPercent: settings.threshold_pct ?? 5,
  hasListing: settings.listing !== 'off',
  maxListingTokens: settings.listing_max_tokens ?? 4_000,
  defaultLimit: settings.search_default_limit ?? defaultLimit,
  maxLimit: settings.max_search_limit ?? 25,
})
const maxListingPercent = 5
const toolset = 'tool_search'
const notNeededWithReferences: ReadonlySet<string> = new Set([...searchTools].filter((name) => name !== searchTool))
const maxQueries = 10
const maxNames = 25
const maxShownChars = 300
/** A longer list of names helps nobody. */
const maxSources = 60

/** Undefined: all tools are offered with their schemas. Tools that are built in are never deferred. */
export const deferTools: DeferTools = (toolbox, tenantTools, { settings, window }) => {
  const chosen = choose(settings)
  if (chosen.enabled === 'off') return undefined
  const deferred = tenantTools.filter((tool) => toolbox.get(tool.name) === tool)
  const maxTokens = (window * chosen.thresholdPercent) / 100
  const isDue = deferred.length > 0 && (chosen.enabled === 'on' || isLarger(deferred, maxTokens))
  if (!isDue || [...searchTools].some((name) => toolbox.has(name))) return undefined
  const names = new Set(deferred.map(({ name }) => name))
  const listingTokens = Math.min((window * maxListingPercent) / 100, chosen.maxListingTokens)
  const listing = renderListing(deferred, chosen.hasListing ? listingTokens : 0)
  const catalogue = openCatalogue(deferred)
  const bridge = [createSearch(catalogue, listing, chosen), createDescribe(catalogue), createCarrier(catalogue)]
  return { search: bridge, isDeferred: (name) => names.has(name) }
}

function isLarger(tools: readonly Tool[], maxTokens: number): boolean {
  let tokens = 0
  return tools.some(({ name, description, inputSchema }) => {
    tokens += estimateTokens(JSON.stringify({ name, description, inputSchema }))
    return tokens > maxTokens
  })
}

type ToolCatalogue = {
  readonly tools: ReadonlyMap<string, Tool>
  readonly sources: readonly string[]
  /** Created by the first search. */
  readonly ranking: () => Ranking
}

export const sourceOf = ({ toolset: name }: Pick<Tool, 'toolset'>): string => name.replace(/^(?:mcp|plugin)-/, '')

function openCatalogue(deferred: readonly Tool[]): ToolCatalogue {
  let ranking: Ranking | undefined
  return {
    tools: new Map(deferred.map((tool) => [tool.name, tool])),
    sources: [...new Set(deferred.map(sourceOf))].toSorted(),
    ranking: () =>
      (ranking ??= createRanking(
        deferred.map((tool) => {
          const { name, description, inputSchema } = tool
          return { name, source: sourceOf(tool), description, inputSchema }
        }),
      )),
  }
}

const oneOrMore = (one: string | undefined, more: readonly string[] | undefined): readonly string[] => [
  ...new Set([...(one === undefined ? [] : [one]), ...(more ?? [])].map((text) => text.trim()).filter(Boolean)),
]

const searchInput = z.object({
  query: z.string().max(500).optional().describe('In English, for example "create issue".'),
  queries: z.array(z.string().max(500)).max(maxQueries).optional().describe('Several searches at once.'),
  limit: z.int().min(1).optional().describe('Tools for each query.'),
})

type SearchLimits = { readonly defaultLimit: number; readonly maxLimit: number }

const purpose =
  'Finds tools of connected servers that are not listed with their schemas here. Search before you say that something cannot be done, then'

const createSearch = (catalogue: ToolCatalogue, listing: string, limits: SearchLimits): Tool => ({
  ...defineTool({
    name: searchTool,
    toolset,
    description: `${purpose} use tool_describe and tool_call.${listing && `\n\n${listing}`}`,
    input: searchInput,
    effect: 'pure',
    run: async ({ query, queries, limit = limits.defaultLimit }) => {
      const asked = oneOrMore(query, queries)
      if (!asked.length) return fail('Give a query, such as "create issue".')
      return search(catalogue, asked, Math.min(limit, limits.maxLimit))
    },
  }),
  search: () => ({
    tools: catalogue.tools,
    description: `${purpose} call the tools that are found by their names.${listing && `\n\n${listing}`}`,
    replaced: notNeededWithReferences,
  }),
})

function search({ ranking, tools, sources }: ToolCatalogue, queries: readonly string[], limit: number): ToolAnswer {
  const results = queries.map((query) => {
    const matches = ranking().search(query, limit)
    return { query, matches, ...(!matches.length && { available_sources: sources.slice(0, maxSources) }) }
  })
  const found = [...new Set(results.flatMap(({ matches }) => matches))]
  const hasForeignScript = results.some(({ query, matches }) => !matches.length && !hasLatin(query))
  return {
    results,
    tools: Object.fromEntries(found.flatMap((name) => (tools.has(name) ? [[name, summarise(tools.get(name))]] : []))),
    ...(hasForeignScript && {
      hint: 'Tools have English names and descriptions. Search again with English words, or with the name of a source.',
    }),
  }
}

function summarise(tool: Tool | undefined) {
  const { required } = (tool?.inputSchema ?? {}) as { readonly required?: unknown }
  return {
    description: (tool?.description ?? '').slice(0, maxShownChars),
    required: Array.isArray(required) ? required : [],
  }
}

const describeInput = z.object({
  name: z.string().optional(),
  names: z.array(z.string()).max(maxNames).optional(),
})

const createDescribe = ({ tools }: ToolCatalogue): Tool =>
  defineTool({
    name: 'tool_describe',
    toolset,
    description: 'The whole descriptions and parameters of tools that tool_search has found.',
    input: describeInput,
    effect: 'pure',
    run: async ({ name, names }) => {
      const asked = oneOrMore(name, names)
      if (!asked.length) return fail('Give the name of a tool. tool_search finds them.')
      const resolved = asked.map((one) => ({ one, tool: tools.get(findCarriedTool(one, tools.keys()) ?? '') }))
      const found = resolved.flatMap(({ tool }) =>
        tool ? [[tool.name, { description: tool.description, parameters: tool.inputSchema }] as const] : [],
      )
      return {
        tools: Object.fromEntries(found),
        not_found: resolved.flatMap(({ one, tool }) => (tool ? [] : [one])),
      }
    },
  })

const carrierSchema = {
  type: 'object',
  properties: {
    name: { type: 'string', description: 'A name that tool_search has found.' },
    arguments: { type: 'object', description: 'As the parameters of that tool say.' },
    calls: {
      type: 'array',
      description: 'Several calls instead of one.',
      items: {
        type: 'object',
        properties: { name: { type: 'string' }, arguments: { type: 'object' } },
        required: ['name'],
      },
    },
  },
}

/** Runs only for calls that could not be unwrapped. */
const createCarrier = ({ tools, ranking }: ToolCatalogue): Tool =>
  defineSchemaTool<unknown>({
    name: 'tool_call',
    toolset,
    description: 'Calls a tool that tool_search has found. Arguments that do not fit return its parameters.',
    input: { schema: carrierSchema, parse: (raw) => ({ ok: true, value: raw }) },
    effect: 'pure',
    run: async (input) => {
      const [carried] = readCarriedCalls(input) ?? []
      if (!carried) return fail('Give the name of a tool and its arguments: {"name": "…", "arguments": {…}}.')
      const { name } = carried
      if (searchTools.has(name)) return fail(`${name} cannot be called by tool_call. Call it directly.`)
      const isKnown = findCarriedTool(name, tools.keys()) !== undefined
      if (isKnown) return fail(`Call ${name} directly, as a call of its own.`)
      const similar = ranking().search(name.replace(/[^\p{L}\p{N}]+/gu, ' '), defaultLimit)
      return fail(`There is no tool named ${name.slice(0, 100)}. Find it with tool_search.`, { similar })
    },
  })
