/** Stands in for the service Mem0: takes and answers what its reference documents, and refuses what it refuses. */

export const mem0Key = `m0-${'a1B2c3'.repeat(6)}`

type Stored = { readonly userId: string; readonly text: string }
export type Received = { readonly path: string; readonly body: Record<string, unknown> }

export class FakeMem0 {
  readonly received: Received[] = []
  /** What the service knows of each user. */
  readonly memories: Stored[] = []
  /** Answers the next requests with this status. */
  status = 200

  async respond(request: Request): Promise<Response> {
    const body = (await request.json()) as Record<string, unknown>
    const { pathname: path } = new URL(request.url)
    this.received.push({ path, body })
    if (this.status !== 200) return Response.json({ error: 'Service unavailable' }, { status: this.status })
    if (request.headers.get('authorization') !== `Token ${mem0Key}`)
      return Response.json({ detail: 'Given token not valid for any token type' }, { status: 401 })
    if (path === '/v3/memories/search/') return this.#search(body)
    if (path === '/v3/memories/add/') return this.#add(body)
    return Response.json({ detail: 'Not found.' }, { status: 404 })
  }

  /** Ids beside the filters are refused, and one id is required within them. */
  #search({ query, filters, user_id: misplaced }: Record<string, unknown>): Response {
    const userId = (filters as { user_id?: string } | undefined)?.user_id
    if (misplaced !== undefined || typeof query !== 'string' || typeof userId !== 'string')
      return Response.json({ error: '400 Bad Request' }, { status: 400 })
    const found = this.memories.filter((one) => one.userId === userId)
    return Response.json({
      results: found.map(({ text }, index) => ({
        id: `ea925981-272f-40dd-b576-be64e487142${index}`,
        memory: text,
        user_id: userId,
        metadata: {},
        score: 0.82,
        created_at: '2024-07-26T10:29:36.630547-07:00',
        updated_at: null,
        categories: ['hobbies'],
      })),
    })
  }

  #add({ messages, user_id: userId }: Record<string, unknown>): Response {
    if (!Array.isArray(messages) || !messages.length || typeof userId !== 'string')
      return Response.json({ error: '400 Bad Request' }, { status: 400 })
    return Response.json({ message: 'Memory processing has been queued', status: 'PENDING', event_id: 'e1' })
  }
}
