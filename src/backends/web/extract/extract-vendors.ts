/** Lists the vendors that read pages: how each is asked, and how its answer is read. Both are pure. */

import { refusedStatus } from './fetch-page.ts'
import { asObject, asText, bearer, joinTexts, type SearchVendorRequest } from '../search/search-vendor.ts'

export type ExtractedPage = { readonly url?: string; readonly title: string; readonly content: string }

type ExtractVendor = {
  readonly id: string
  readonly request: (access: { readonly baseUrl: string; readonly key: string }, url: string) => SearchVendorRequest
  /** Returns undefined for an answer in an unknown form, or the error that the answer holds. */
  readonly parse: (body: unknown) => ExtractedPage | { readonly error: string } | undefined
}

const first = (list: unknown) => (Array.isArray(list) && list.length ? asObject(list[0]) : undefined)

function readPage(entry: Readonly<Record<string, unknown>> | undefined, content: unknown): ExtractedPage | undefined {
  const text = joinTexts(content)
  if (!entry || !text) return undefined
  return { title: asText(entry['title']), content: text, ...(asText(entry['url']) && { url: asText(entry['url']) }) }
}

const tavily: ExtractVendor = {
  id: 'tavily',
  request: ({ baseUrl, key }, url) => ({
    url: `${baseUrl}/extract`,
    headers: bearer(key),
    body: { urls: [url], format: 'markdown' },
  }),
  parse(body) {
    const { results, failed_results: failed } = asObject(body)
    const error = first(failed)?.['error']
    if (error !== undefined) return { error: asText(error) || 'it could not read the page' }
    return readPage(first(results), first(results)?.['raw_content'])
  },
}

/** Scripts of the page get this time, as in Hermes. */
const waitForMs = 3_000

const firecrawl: ExtractVendor = {
  id: 'firecrawl',
  request: ({ baseUrl, key }, url) => ({
    url: `${baseUrl}/v2/scrape`,
    headers: bearer(key),
    body: { url, formats: ['markdown'], waitFor: waitForMs },
  }),
  parse(body) {
    const data = asObject(asObject(body)['data'])
    const { title, url, sourceURL, statusCode, error } = asObject(data['metadata'])
    const refused = refusedStatus(Number(statusCode))
    if (refused) return refused
    if (!asText(data['markdown']) && asText(error)) return { error: asText(error) }
    return readPage({ title, url: url ?? sourceURL }, data['markdown'])
  },
}

const exa: ExtractVendor = {
  id: 'exa',
  request: ({ baseUrl, key }, url) => ({
    url: `${baseUrl}/contents`,
    headers: { 'x-api-key': key },
    body: { urls: [url], text: true },
  }),
  parse(body) {
    const { results, statuses } = asObject(body)
    const { status, error } = asObject(first(statuses))
    if (status === 'error') {
      const { httpStatusCode, tag } = asObject(error)
      return refusedStatus(httpStatusCode) ?? { error: asText(tag) || 'it could not read the page' }
    }
    return readPage(first(results), first(results)?.['text'])
  },
}

const parallel: ExtractVendor = {
  id: 'parallel',
  request: ({ baseUrl, key }, url) => ({
    url: `${baseUrl}/v1beta/extract`,
    headers: { 'x-api-key': key },
    body: { urls: [url], full_content: true, excerpts: false },
  }),
  parse(body) {
    const { results, errors } = asObject(body)
    const failed = first(errors)
    if (failed)
      return { error: asText(failed['content']) || asText(failed['error_type']) || 'it could not read the page' }
    const found = first(results)
    return readPage(found, found?.['full_content'] ?? found?.['excerpts'])
  },
}

const jina: ExtractVendor = {
  id: 'jina',
  request: ({ baseUrl, key }, url) => ({
    url: `${baseUrl}/${url}`,
    headers: { ...bearer(key), accept: 'application/json' },
  }),
  parse(body) {
    const data = asObject(asObject(body)['data'])
    const [, status] = /returned error (\d{3})\b/.exec(asText(data['warning'])) ?? []
    return refusedStatus(Number(status)) ?? readPage(data, data['content'])
  },
}

const vendors: readonly ExtractVendor[] = [tavily, firecrawl, exa, parallel, jina]

export const findExtractVendor = (id: string): ExtractVendor | undefined => vendors.find((one) => one.id === id)
