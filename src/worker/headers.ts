/** Headers that requests may carry beside the key, for the OpenAPI document. */

export type RequestHeader = { readonly name: string; readonly description: string }

const idempotency: RequestHeader = {
  name: 'Idempotency-Key',
  description: 'Of 1 to 255 characters. The same with the same body gets the answer that is there already.',
}
const session = (name: string): RequestHeader => ({
  name,
  description: 'A stored session: it has the history, and only the last message counts.',
})
const lastEvent: RequestHeader = { name: 'Last-Event-ID', description: 'Goes on behind this event.' }

const known: Readonly<Record<string, readonly RequestHeader[]>> = {
  'post /v1/chat/completions': [idempotency, session('X-Talaria-Session-Id'), session('X-Hermes-Session-Id')],
  'post /v1/responses': [idempotency],
  'post /api/sessions': [idempotency],
  'post /api/sessions/import': [idempotency],
  'post /api/sessions/:id/chat': [idempotency],
  'post /api/sessions/:id/chat/stream': [idempotency],
  'post /api/sessions/:id/steer': [idempotency],
  'post /api/sessions/:id/retry': [idempotency],
  'post /api/sessions/:id/fork': [idempotency],
  'get /api/sessions/:id/events': [lastEvent],
}

export const headersOf = ({ method, path }: { readonly method: string; readonly path: string }) =>
  known[`${method} ${path}`] ?? []
