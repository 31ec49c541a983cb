/** Headers that a request may carry beside the key, as routes name them in their descriptions. */

export type RequestHeader = { readonly name: string; readonly description: string }

export const idempotencyKey: RequestHeader = {
  name: 'Idempotency-Key',
  description: 'Of 1 to 255 characters. The same with the same body gets the answer that is there already.',
}

const storedSession = 'A stored session: it has the history, and only the last message counts.'
export const sessionId: readonly RequestHeader[] = [
  { name: 'X-Talaria-Session-Id', description: storedSession },
  { name: 'X-Hermes-Session-Id', description: storedSession },
]

export const lastEventId: RequestHeader = { name: 'Last-Event-ID', description: 'Goes on behind this event.' }
