/**
 * Calls a vendor once and classifies its answer. `limited` means that another vendor may answer the same request; every
 * other failure would probably be repeated.
 */

import { parseJson } from '#agent/core/parse-json.ts'
import { describeError, type WebSend } from './web-send.ts'
import { asObject, asText, type SearchVendorRequest } from './search/search-vendor.ts'

export type VendorAnswer =
  | { readonly kind: 'answered'; readonly body: unknown }
  | { readonly kind: 'limited' | 'failed'; readonly detail: string }

export type VendorCall = { readonly send: WebSend; readonly signal: AbortSignal; readonly timeoutMs?: number }

const defaultTimeoutMs = 30_000
const maxBytes = 8 * 1024 * 1024
/** 401 to 403: the key or the free use is refused. 432: the plan of Tavily is used up. */
const limitedStatuses: ReadonlySet<number> = new Set([401, 402, 403, 429, 432])
const limitText =
  /rate.{0,2}limit|too many requests|quota (?:is )?exceeded|usage limit|out of credits|insufficient credits|slow down|\b429\b/i

export async function callVendor(
  { url, headers = {}, body }: SearchVendorRequest,
  { send, signal, timeoutMs = defaultTimeoutMs }: VendorCall,
  isMcp = false,
): Promise<VendorAnswer> {
  const accept = isMcp ? 'application/json, text/event-stream' : 'application/json'
  const sent = { accept, ...(body && { 'content-type': 'application/json' }), ...headers }
  try {
    const { response } = await send({
      url,
      method: body ? 'POST' : 'GET',
      headers: sent,
      ...(body && { body: JSON.stringify(body) }),
      signal,
      timeoutMs,
      maxBytes,
      isTrusted: true,
    })
    return classify(response.status, await response.text(), isMcp)
  } catch (error) {
    return { kind: 'failed', detail: describeError(error) }
  }
}

function classify(status: number, text: string, isMcp: boolean): VendorAnswer {
  const excerpt = describeBody(text)
  if (status < 200 || status >= 300) {
    const isLimited = limitedStatuses.has(status) || limitText.test(text.slice(0, 2_000))
    return { kind: isLimited ? 'limited' : 'failed', detail: `status ${status}${excerpt && `: ${excerpt}`}` }
  }
  if (/^\s{0,100}</.test(text))
    return { kind: 'failed', detail: 'blocked: it answered with a web page, such as a challenge, instead of results' }
  const body = isMcp ? readMcp(text) : parseJson(text)
  if (body === undefined) return { kind: 'failed', detail: 'it answered in an unknown form' }
  const error = getError(body)
  if (error === undefined) return { kind: 'answered', body }
  return { kind: limitText.test(error) ? 'limited' : 'failed', detail: error.slice(0, 300) }
}

/** The error that an answer with status 200 holds. */
function getError(body: unknown): string | undefined {
  const { error, mcpError } = asObject(body)
  if (typeof mcpError === 'string') return mcpError
  if (error === undefined || error === null || error === false || error === '') return undefined
  return asText(error) || asText(asObject(error)['message']) || JSON.stringify(error).slice(0, 300)
}

function describeBody(text: string): string {
  const body = asObject(parseJson(text))
  const { error, message, detail } = body
  const found = [error, asObject(error)['message'], message, detail, asObject(detail)['error']]
    .map(asText)
    .find(Boolean)
  return (found ?? (text.trimStart().startsWith('<') ? 'a web page' : text)).slice(0, 200).trim()
}

/** The text of the result of an MCP server, which comes as JSON or as an event stream. */
function readMcp(text: string): unknown {
  const events = text.split('\n').flatMap((line) => (line.startsWith('data:') ? [parseJson(line.slice(5))] : []))
  const answers = [parseJson(text), ...events].map(asObject)
  const failed = answers.find(({ error }) => error !== undefined)
  const error = failed?.['error']
  if (error !== undefined)
    return { mcpError: asText(error) || asText(asObject(error)['message']) || 'the MCP server reports an error' }
  const result = answers.map((answer) => asObject(answer['result'])).find(({ content }) => Array.isArray(content))
  if (!result) return undefined
  const texts = (result['content'] as readonly unknown[]).map((item) => asText(asObject(item)['text'])).filter(Boolean)
  return result['isError'] === true ? { mcpError: texts.join(' ') || 'the tool failed' } : texts[0]
}
