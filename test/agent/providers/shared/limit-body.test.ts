import { describe, expect, it } from 'vitest'
import { limitBody } from '#agent/providers/shared/limit-body.ts'

const encoder = new TextEncoder()
const long = 'x'.repeat(100_000)

describe('limitBody', () => {
  const endlessBody = (init: ResponseInit) => {
    const pull = (controller: ReadableStreamDefaultController<Uint8Array>) => controller.enqueue(encoder.encode(long))
    return new Response(new ReadableStream<Uint8Array>({ pull }), init)
  }
  const json = { headers: { 'content-type': 'application/json' } }

  it.each([{ status: 500 }, json])('truncates a body with %j', async (init) => {
    const response = limitBody(endlessBody(init))
    expect(response.status).toBe(init === json ? 200 : 500)
    expect(await response.text()).toHaveLength(8_000_000)
  })

  it('does not change an event stream', () => {
    const stream = new Response('data: 1', { headers: { 'content-type': 'text/event-stream' } })
    expect(limitBody(stream)).toBe(stream)
  })
})
