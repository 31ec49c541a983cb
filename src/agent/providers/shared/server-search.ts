/** Replaces our tool by the web search of a provider, and describes its use in a reply. */

import type { ModelRequest, Quirks } from '#agent/core/dialect.ts'
import type { AssistantMessage, ProviderData, ThinkingPart } from '#agent/core/message.ts'

const replacedTool = 'web_search'
const maxQueryChars = 500
const maxSources = 20

/** Returns the tools of the API form, and whether the provider's search is offered in place of `web_search`. */
export function selectServerSearch(
  { tools, serverSearch }: Pick<ModelRequest, 'tools' | 'serverSearch'>,
  quirks: Quirks,
  form: NonNullable<Quirks['serverSearch']>,
): { readonly tools: ModelRequest['tools']; readonly hasServerSearch: boolean } {
  const hasServerSearch =
    serverSearch === true && quirks.serverSearch === form && tools.some(({ name }) => name === replacedTool)
  return { tools: hasServerSearch ? tools.filter(({ name }) => name !== replacedTool) : tools, hasServerSearch }
}

/** Creates the part of a message that keeps data of a search. `query` is empty for data without a search of its own. */
export function createSearchPart(query: unknown, sealed?: ProviderData): ThinkingPart {
  const search = typeof query === 'string' ? query.slice(0, maxQueryChars) : ''
  return {
    type: 'thinking',
    text: search && `Searched the web: ${search}\n`,
    search,
    ...(sealed && { sealed }),
  }
}

export type SearchSource = { readonly url: string; readonly title: string }

/** Reads the sources among values that should have a URL and a title. */
export const readSources = (values: readonly unknown[]): readonly SearchSource[] =>
  values.flatMap((value) => {
    const { url, title } = (value ?? {}) as Readonly<Record<string, unknown>>
    if (typeof url !== 'string' || !/^https?:/i.test(url)) return []
    return [{ url: url.slice(0, 2_000), title: typeof title === 'string' ? title.slice(0, 300) : '' }]
  })

/** Renders the cited sources as the end of the answer, for channels and models that do not know citations. */
export function createSourcesPart(sources: readonly SearchSource[]): AssistantMessage['content'] {
  const unique = [...new Map(sources.map((source) => [source.url, source])).values()].slice(0, maxSources)
  if (!unique.length) return []
  const lines = unique.map(
    ({ url, title }) => `- ${title.replace(/\s{1,300}/g, ' ').trim() || url}: <${encodeUrl(url)}>`,
  )
  return [{ type: 'text', text: `\n\nSources:\n${lines.join('\n')}` }]
}

const encodeUrl = (url: string): string => url.replace(/[\s<>]/g, encodeURIComponent)
