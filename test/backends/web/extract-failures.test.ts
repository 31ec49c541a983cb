/** Tests reading pages of servers that fail or attack, through the guarded fetch: each ends in an error of its page. */

import { describe, expect, it } from 'vitest'
import { itInTurn } from '#test/support/long.ts'
import { extractPage, type ExtractContext } from '#backends/web/extract/extract-page.ts'
import { readPage } from '#backends/web/page/inside/read-page.ts'
import { createGuardedFetch } from '#durable/platform/guarded-fetch.ts'
import { createTestClock } from '../../support/clock.ts'
import { openDeployment } from './support/fake-web.ts'
import { forbiddenAddresses } from './support/forbidden-addresses.ts'

type Answer = (url: string, sent: number, signal: AbortSignal) => Response | Promise<Response>

/** Node collects a request that nothing else refers to, together with the listeners of its signal. */
const held: Request[] = []

function open(answer: Answer, signal: AbortSignal = new AbortController().signal) {
  const sent: string[] = []
  const clock = createTestClock()
  const send = createGuardedFetch({} as Env, {
    send: async (request) => {
      sent.push(request.url)
      held.push(request)
      const answered = (async () => answer(request.url, sent.length, request.signal))()
      const stopped = new Promise<never>((_resolve, reject) => {
        request.signal.addEventListener('abort', () => reject(request.signal.reason as Error))
      })
      return Promise.race([answered, stopped])
    },
  })
  const context: ExtractContext = {
    deployment: openDeployment({ web: { extract_backend: 'fetch' } }),
    userAgent: 'Talaria/test',
    send,
    checkAddress: async () => undefined,
    readPage: (bytes, request) => readPage(new Response(bytes).body as ReadableStream<Uint8Array>, request),
    documents: {
      pdf: () => Promise.reject(new Error('no PDF')),
      office: () => Promise.reject(new Error('no document')),
    },
    schedule: clock.schedule,
    renderPage: async () => undefined,
    store: async () => '/tmp/results/web-1.md',
  }
  const extract = (url = 'https://site.example/') => extractPage({ url, maxChars: 15_000, signal }, context)
  return { extract, sent, clock }
}

/** A header holds no character beyond Latin-1: a server that hides its target in one encodes it. */
const encodeHeader = (text: string): string => text.replaceAll(/[^ -~]/gu, encodeURIComponent)

const redirect = (location?: string) =>
  new Response(null, {
    status: 302,
    ...(location !== undefined && { headers: { location: encodeHeader(location) } }),
  })
const html = (body: BodyInit) => new Response(body, { headers: { 'content-type': 'text/html' } })

describe('an address that may not be called', () => {
  it.each(forbiddenAddresses)('%s is refused, as the address and as a redirect', async (url) => {
    const direct = open(() => html('<p>secret of the network'))
    expect(await direct.extract(url)).toMatchObject({ content: '', error: expect.any(String) })
    expect(direct.sent).toEqual([])
    const led = open((_url, count) => (count === 1 ? redirect(url) : html('<p>secret of the network')))
    expect(await led.extract()).toMatchObject({ content: '', error: expect.any(String) })
    expect(led.sent).toEqual(['https://site.example/'])
  })

  it.each(forbiddenAddresses)('%s is never followed from a meta refresh', async (url) => {
    const { extract, sent } = open(() => html(`<meta http-equiv="refresh" content="0; url=${url}"><p>Text`))
    expect((await extract()).content).toContain('Text')
    expect(sent).toEqual(['https://site.example/'])
  })
})

describe('a redirect', () => {
  it('is followed five times, not six times, and not in a circle', async () => {
    const chain = (length: number) =>
      open((_url, count) => (count > length ? html('<p>The end') : redirect(`/hop-${count}`)))
    expect((await chain(5).extract()).content).toBe('The end')
    expect(await chain(6).extract()).toMatchObject({ content: '', error: expect.stringContaining('5 redirects') })
    const circle = open((url) => redirect(url.endsWith('a') ? '/b' : '/a'))
    expect((await circle.extract()).error).toContain('5 redirects')
    expect(circle.sent).toHaveLength(6)
  })

  it('without an address is an error', async () => {
    expect((await open(() => redirect()).extract()).error).toContain('no other address')
  })
})

describe('a server', () => {
  it.each([
    [401, {}, 'login'],
    [403, {}, 'refuses'],
    [407, {}, 'proxy'],
    [429, {}, 'limits requests.'],
    [429, { 'retry-after': '120' }, 'wait until 120'],
    [451, {}, 'legal'],
    [503, {}, 'failed'],
  ])('that answers with %i %j is an error and called once', async (status, headers, text) => {
    const { extract, sent } = open(() => new Response('no', { status, headers }))
    expect((await extract()).error).toContain(text)
    expect(sent).toHaveLength(1)
  })

  const inTime = { content: '', error: 'it did not answer in time' }

  it('that sends no headers is given up after 15 seconds', async () => {
    const { extract, sent, clock } = open(() => new Promise<Response>(() => {}))
    let answer: unknown
    const ended = extract().then((found) => (answer = found))
    await expect.poll(() => sent.length).toBe(1)
    await clock.pass(14_999)
    expect(answer).toBeUndefined()
    await clock.pass(1)
    expect(await ended).toMatchObject(inTime)
    expect(clock.pending()).toBe(0)
  })

  it('that stalls in its body is given up after 30 seconds', async () => {
    let isStalled = false
    const { extract, clock } = open((_url, _sent, signal) =>
      html(
        new ReadableStream({
          start(controller) {
            controller.enqueue(new TextEncoder().encode('<p>The beginning'))
            signal.addEventListener('abort', () => controller.error(signal.reason))
          },
          pull: () => {
            isStalled = true
          },
        }),
      ),
    )
    let answer: unknown
    const ended = extract().then((found) => (answer = found))
    await expect.poll(() => isStalled).toBe(true)
    await expect.poll(() => clock.pending()).toBe(1)
    await clock.pass(29_999)
    expect(answer).toBeUndefined()
    await clock.pass(1)
    expect(await ended).toMatchObject(inTime)
    expect(clock.pending()).toBe(0)
  })

  it('is given up when the turn is stopped', async () => {
    const stop = new AbortController()
    const { extract, sent, clock } = open(() => new Promise<Response>(() => {}), stop.signal)
    const ended = extract()
    await expect.poll(() => sent.length).toBe(1)
    stop.abort()
    expect(await ended).toMatchObject({ content: '', error: expect.any(String) })
    expect(clock.pending()).toBe(0)
  })

  it('whose certificate is not trusted is an error', async () => {
    const reason = "TLS peer's certificate is not trusted; reason = self-signed certificate"
    const { extract, sent } = open(() => Promise.reject(new Error(reason)))
    expect(await extract()).toEqual({ url: 'https://site.example/', title: '', content: '', error: reason })
    expect(sent).toHaveLength(1)
  })

  it('that refuses the connection is an error', async () => {
    const { extract } = open(() => Promise.reject(new Error('connection refused')))
    expect((await extract()).error).toContain('connection refused')
  })

  itInTurn('that sends a gzip bomb of one to a thousand is read up to the limit', async () => {
    const zeros = new Response('a'.repeat(1_000_000)).body as ReadableStream<Uint8Array>
    const packed = new Uint8Array(await new Response(zeros.pipeThrough(new CompressionStream('gzip'))).arrayBuffer())
    expect(packed.byteLength).toBeLessThan(2_000)
    let members = 0
    const bomb = new ReadableStream<Uint8Array>({
      pull: (controller) => {
        const part = new Response(packed).body as ReadableStream<Uint8Array<ArrayBuffer>>
        return (async () => {
          members++
          const unpacked = part.pipeThrough(new DecompressionStream('gzip'))
          controller.enqueue(new Uint8Array(await new Response(unpacked).arrayBuffer()))
        })()
      },
    })
    const { content } = await open(() => html(bomb)).extract()
    expect(content.length).toBeLessThan(16_000)
    expect(members).toBeLessThan(20)
  })

  it('that sends cut gzip is an error', async () => {
    const whole = (new Response('text '.repeat(50_000)).body as ReadableStream<Uint8Array>).pipeThrough(
      new CompressionStream('gzip'),
    )
    const cut = new Uint8Array(await new Response(whole).arrayBuffer()).slice(0, -20)
    const body = (new Response(cut).body as ReadableStream<Uint8Array<ArrayBuffer>>).pipeThrough(
      new DecompressionStream('gzip'),
    )
    expect(await open(() => html(body)).extract()).toMatchObject({ content: '', error: expect.any(String) })
  })
})
