/** Describes the request headers that routes accept, for the OpenAPI document, and the headers of event streams. */

export type RequestHeader = { readonly name: string; readonly description: string }

export const idempotencyKeyHeader: RequestHeader = {
  name: 'Idempotency-Key',
  description: '1 to 255 characters. The same key with the same body gets the answer of the first request.',
}

export const toolsetsHeader: RequestHeader = {
  name: 'X-Talaria-Toolsets',
  description: 'Toolsets and tools that this request may use, separated by commas. It cannot add any.',
}

const storedSession = 'Continues this session: its stored history is used, and only the last message of the request.'
export const sessionIdHeaders: readonly RequestHeader[] = [
  { name: 'X-Talaria-Session-Id', description: storedSession },
  { name: 'X-Hermes-Session-Id', description: storedSession },
]

export const lastEventIdHeader: RequestHeader = { name: 'Last-Event-ID', description: 'Continues after this event.' }

export const rangeHeader: RequestHeader = {
  name: 'Range',
  description: 'One range of bytes, as `bytes=0-1023`. With `If-Range` only of that version.',
}

export const ifNoneMatchHeader: RequestHeader = {
  name: 'If-None-Match',
  description: 'The `ETag` of a known version: 304 when it is the current one. With PUT, `*` creates only.',
}

export const ifMatchHeader: RequestHeader = {
  name: 'If-Match',
  description: 'The `ETag` of the version that may be replaced; 412 when the file has changed since.',
}

/** The response headers of a stream of server-sent events. */
export const eventStreamHeaders = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-cache, no-transform',
}
