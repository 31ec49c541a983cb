/** Tests that large bodies of requests are let go when they are sent, and that few of them are in memory at once. */

import { describe, expect, it } from 'vitest'
import { userText } from '#agent/core/message.ts'
import type { CallOptions, ModelRequest } from '#agent/core/dialect.ts'
import { requestBodies } from '#agent/providers/shared/request-bodies.ts'
import { createDialects } from '#durable/models/dialects.ts'
import { env } from 'cloudflare:workers'

const megabyte = 1024 * 1024
const sleep = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms))

/** A host that reads bodies, or not, and answers when it is told to. */
function openHost({ reads = true } = {}) {
  const bodies: (Uint8Array | ReadableStream<Uint8Array>)[] = []
  const read: Uint8Array[] = []
  const { promise, resolve: answer, reject: fail } = Promise.withResolvers<string>()
  const send = async (body: Uint8Array | ReadableStream<Uint8Array>) => {
    bodies.push(body)
    if (reads) read.push(new Uint8Array(await new Response(body).arrayBuffer()))
    return promise
  }
  return { send, bodies, read, answer, fail }
}

const bytesOf = (size: number) => new Uint8Array(size)

describe('a large body', () => {
  it('arrives whole, and is not in memory while the answer is awaited', async () => {
    const host = openHost()
    const bytes = new TextEncoder().encode(`${'0123456789'.repeat(30_000)}!`)
    const answered = requestBodies.send(() => bytes, host.send, sleep)
    expect(requestBodies.sendingBytes).toBe(300_001)
    await expect.poll(() => requestBodies.sendingBytes).toBe(0)
    expect(new TextDecoder().decode(host.read[0]) === `${'0123456789'.repeat(30_000)}!`).toBe(true)
    host.answer('ok')
    expect(await answered).toBe('ok')
    expect(requestBodies.sendingBytes).toBe(0)
  })

  it('is let go when the call fails before it is read', async () => {
    const host = openHost({ reads: false })
    const answered = requestBodies.send(() => bytesOf(megabyte), host.send, sleep)
    expect(requestBodies.sendingBytes).toBe(megabyte)
    host.fail(new Error('no route'))
    await expect(answered).rejects.toThrow('no route')
    expect(requestBodies.sendingBytes).toBe(0)
  })

  it('is rendered when those before it are sent', async () => {
    const slow = openHost({ reads: false })
    const first = requestBodies.send(() => bytesOf(9 * megabyte), slow.send, sleep)
    const host = openHost()
    let rendered = 0
    const others = Array.from({ length: 20 }, () =>
      requestBodies.send(
        () => (rendered++, bytesOf(megabyte)),
        host.send,
        () => sleep(1),
      ),
    )
    await sleep(20)
    expect(rendered).toBe(0)
    await new Response(slow.bodies[0]).arrayBuffer()
    await expect.poll(() => host.read.length).toBe(20)
    expect(host.read.every(({ length }) => length === megabyte)).toBe(true)
    slow.answer('ok')
    host.answer('ok')
    expect(await Promise.all([first, ...others])).toHaveLength(21)
  })

  it('waits only for a second for a host that does not read, and the next one not at all', async () => {
    const stuck = openHost({ reads: false })
    const first = requestBodies.send(() => bytesOf(9 * megabyte), stuck.send, sleep)
    const host = openHost()
    let waitedMs = 0
    const next = () =>
      requestBodies.send(
        () => bytesOf(megabyte),
        host.send,
        async (ms) => void (waitedMs += ms),
      )
    host.answer('ok')
    expect([await next(), await next()]).toEqual(['ok', 'ok'])
    expect(waitedMs).toBe(1000)
    stuck.answer('ok')
    await first
    expect(requestBodies.sendingBytes).toBe(0)
  })
})

it('a small body is sent as its bytes', async () => {
  const host = openHost()
  const answered = requestBodies.send(() => bytesOf(64 * 1024), host.send, sleep)
  expect(host.bodies[0]).toBeInstanceOf(Uint8Array)
  host.answer('ok')
  await answered
})

describe('each dialect whose requests are not signed', () => {
  const request: ModelRequest = {
    model: 'm',
    system: 'Be brief.',
    transcript: [userText('word '.repeat(100_000))],
    tools: [],
  } as unknown as ModelRequest
  const endpoint = { id: 'e', baseUrl: 'https://model.test/v1', key: 'k', headers: {}, isTenantAddress: false }

  it.each(['openai-chat', 'openai-responses', 'anthropic', 'gemini'] as const)('%s', async (name) => {
    const counts: number[] = []
    const send = async (sent: Request) => {
      counts.push(requestBodies.sendingBytes)
      const { length } = await sent.text()
      await sleep(0)
      counts.push(length, requestBodies.sendingBytes)
      return Response.json({ error: { message: 'enough' } }, { status: 400 })
    }
    const options = { signal: new AbortController().signal, onDelta: () => undefined, sleep, send }
    const dialect = createDialects(env as unknown as Env)[name]!
    await expect(dialect.call(request, endpoint as never, options as unknown as CallOptions)).rejects.toMatchObject({
      message: expect.any(String) as string,
    })
    const [before, length] = counts
    expect(length).toBeGreaterThan(500_000)
    expect(counts).toEqual([length, before, 0])
  })
})
