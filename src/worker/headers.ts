/** Headers that a request may carry beside the key, as routes name them in their descriptions. */

export type RequestHeader = { readonly name: string; readonly description: string }

export const idempotencyKey: RequestHeader = {
  name: 'Idempotency-Key',
  description: '1 to 255 characters. The same key with the same body gets the answer of the first request.',
}

const storedSession = 'The session to go on with: its own history counts, and of the request only the last message.'
export const sessionId: readonly RequestHeader[] = [
  { name: 'X-Talaria-Session-Id', description: storedSession },
  { name: 'X-Hermes-Session-Id', description: storedSession },
]

export const lastEventId: RequestHeader = { name: 'Last-Event-ID', description: 'Continues after this event.' }
