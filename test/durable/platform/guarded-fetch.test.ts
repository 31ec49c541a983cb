/** Tests the guard of the network: redirects, credentials, mapped hosts, limits, the ledger and the mark against loops. */

import { afterEach, describe, expect, it, vi } from 'vitest'
import { replaceClock } from '#durable/platform/clock.ts'
import { createGuardedFetch, type GuardedRequest, type HostUse } from '#durable/platform/guarded-fetch.ts'
import { isOwnRequest, loopHeader } from '#durable/platform/loop-mark.ts'
import { createTestClock } from '#test/support/clock.ts'

afterEach(() => {
  replaceClock()
  vi.restoreAllMocks()
})

type Answers = Readonly<Record<string, () => Response>>

/** Sends a request; `answers` are the servers of the internet by address. */
async function send(request: GuardedRequest, answers: Answers = {}, variables: object = {}) {
  const seen: { url: string; method: string; headers: Headers; body: string }[] = []
  const uses: HostUse[] = []
  const env = { PUBLIC_URL: 'https://talaria.example.org', ...variables } as unknown as Env
  const guardedFetch = createGuardedFetch(env, {
    send: async (sent) => {
      seen.push({ url: sent.url, method: sent.method, headers: sent.headers, body: await sent.text() })
      return answers[sent.url]?.() ?? new Response(`answer of ${sent.url}`)
    },
    record: (use) => uses.push(use),
  })
  try {
    const { response, url } = await guardedFetch(request)
    return { seen, uses, url, status: response.status, text: await response.text() }
  } catch (error) {
    return { seen, uses, error: String(error) }
  }
}

const to =
  (location: string, status = 302) =>
  () =>
    new Response('', { status, headers: { location } })
const start = 'https://start.example.com/'

describe('a redirect', () => {
  const hostile = [
    'http://127.0.0.1/',
    'http://localhost:8787/v1/models',
    'http://169.254.169.254/latest/meta-data/',
    'http://[::ffff:10.0.0.1]/',
    'http://2130706433/',
    '//10.0.0.1/x',
    'http://metadata.google.internal/',
    'https://talaria.example.org/api/settings',
    'https://user:pw@example.com/',
    'file:///etc/passwd',
    'data:text/plain,hi',
    'javascript:alert(1)',
    'https://example..com/',
    'http://example.com:6379/',
    'http://',
  ]

  it.each(hostile)('to %s is refused, in each position of a chain', async (location) => {
    for (const length of [0, 1, 4]) {
      const chain = Object.fromEntries(
        Array.from({ length }, (_, i) => [`https://hop${i}.example.com/`, to(`https://hop${i + 1}.example.com/`, 307)]),
      )
      const answers = {
        [start]: to('https://hop0.example.com/'),
        ...chain,
        [`https://hop${length}.example.com/`]: to(location),
      }
      const { seen, error } = await send({ url: start, follow: true }, answers)
      expect([location, seen.length, seen.every(({ url }) => url.includes('.example.com'))]).toEqual([
        location,
        length + 2,
        true,
      ])
      expect(error).toMatch(/may not be called|redirects/)
    }
  })

  it('is followed at most five times', async () => {
    const chain = (length: number) =>
      Object.fromEntries(
        Array.from({ length }, (_, i) => [`https://h${i}.example.com/`, to(`https://h${i + 1}.example.com/`)]),
      )
    expect(await send({ url: 'https://h0.example.com/', follow: true }, chain(5))).toMatchObject({
      url: 'https://h5.example.com/',
      text: 'answer of https://h5.example.com/',
    })
    const { seen, error } = await send({ url: 'https://h0.example.com/', follow: true }, chain(6))
    expect([seen.length, error]).toEqual([6, 'BlockedAddress: more than 5 redirects'])
  })

  it('is returned when it shall not be followed', async () => {
    expect(await send({ url: start }, { [start]: to('http://127.0.0.1/') })).toMatchObject({ status: 302, url: start })
  })

  it('from an address of the deployment is judged', async () => {
    const url = 'http://127.0.0.1:9999/catalog'
    const { seen, error } = await send({ url, isTrusted: true, follow: true }, { [url]: to('http://127.0.0.1:9998/') })
    expect([seen.map((one) => one.url), error]).toEqual([[url], expect.stringContaining('loopback')])
    expect(await send({ url, isTrusted: true })).toMatchObject({ text: `answer of ${url}` })
  })

  it.each([
    [301, 'POST', 'GET', ''],
    [302, 'POST', 'GET', ''],
    [303, 'PUT', 'GET', ''],
    [307, 'POST', 'POST', 'body'],
    [308, 'PUT', 'PUT', 'body'],
  ])('%i after %s asks with %s', async (status, method, next, body) => {
    const { seen } = await send({ url: start, method, body: 'body', follow: true }, { [start]: to('/next', status) })
    expect(seen[1]).toMatchObject({ url: `${start}next`, method: next, body })
  })
})

describe('credentials', () => {
  const names = ['authorization', 'cookie', 'proxy-authorization', 'x-api-key', 'private-token', 'referer']
  const headers = { accept: 'text/html', ...Object.fromEntries(names.map((name) => [name, 'secret'])) }

  it.each([
    ['another host', 'https://other.example.com/'],
    ['a parent domain', 'https://example.com/'],
    ['another port', 'https://start.example.com:8443/'],
    ['plain http', 'http://start.example.com/'],
  ])('do not go to %s, and do not come back', async (_, location) => {
    const answers = { [start]: to(location), [location]: to('https://start.example.com/back') }
    const { seen } = await send({ url: start, headers, follow: true }, answers)
    const sent = seen.map((one) => names.filter((name) => one.headers.get(name)))
    expect(sent).toEqual([names, [], []])
    expect(seen.map((one) => one.headers.get('accept'))).toEqual(['text/html', 'text/html', 'text/html'])
  })

  it('stay on the same origin', async () => {
    const { seen } = await send({ url: start, headers, follow: true }, { [start]: to('/next') })
    expect(names.filter((name) => !seen[1]?.headers.get(name))).toEqual([])
  })

  it('cannot be replaced by headers of the connection', async () => {
    const spoofed = {
      host: 'internal',
      'cf-connecting-ip': '1.2.3.4',
      'x-forwarded-for': '127.0.0.1',
      [loopHeader]: 'x',
    }
    const { seen } = await send({ url: start, headers: spoofed })
    expect([...(seen[0]?.headers ?? [])]).toEqual([[loopHeader, expect.stringMatching(/^[0-9a-f]{16}$/)]])
  })
})

describe('WEB_HOST_MAP', () => {
  const variables = {
    WEB_HOST_MAP: '{"intranet.example.com": "http://127.0.0.1:9001", "Base.Example.com": "http://10.0.0.1/p/"}',
  }

  it.each([
    ['http://intranet.example.com/a?b=1', 'http://127.0.0.1:9001/a?b=1'],
    ['https://intranet.example.com/a#c', 'http://127.0.0.1:9001/a'],
    ['https://INTRANET.example.com./', 'http://127.0.0.1:9001/'],
    ['https://base.example.com/x', 'http://10.0.0.1/p/x'],
    ['https://other.example.com/x', 'https://other.example.com/x'],
  ])('sends %s to %s', async (url, target) => {
    const { seen } = await send({ url }, {}, variables)
    expect(seen.map((one) => one.url)).toEqual([target])
  })

  it('lets names below .test be called, which are private elsewhere', async () => {
    const mapped = { WEB_HOST_MAP: '{"site.test": "http://127.0.0.1:9001"}' }
    expect((await send({ url: 'https://site.test/a' }, {}, mapped)).seen.map((one) => one.url)).toEqual([
      'http://127.0.0.1:9001/a',
    ])
    expect(await send({ url: 'https://other.test/' }, {}, mapped)).toMatchObject({ seen: [] })
    expect(await send({ url: 'https://user@site.test/' }, {}, mapped)).toMatchObject({ seen: [] })
    expect(await send({ url: 'https://site.test:22/' }, {}, mapped)).toMatchObject({ seen: [] })
  })

  it('judges the public name, and each redirect of its server', async () => {
    expect(await send({ url: 'http://127.0.0.1:9001/' }, {}, variables)).toMatchObject({ seen: [] })
    expect(await send({ url: 'https://intranet.example.com:22/' }, {}, variables)).toMatchObject({ seen: [] })
    const answers = { 'http://127.0.0.1:9001/': to('http://127.0.0.1:9001/next') }
    const { seen, error } = await send({ url: 'https://intranet.example.com/', follow: true }, answers, variables)
    expect([seen.length, error]).toEqual([1, expect.stringContaining('loopback')])
  })

  it('resolves relative redirects against the public name', async () => {
    const answers = { 'http://127.0.0.1:9001/': to('/next') }
    const { url } = await send({ url: 'https://intranet.example.com/', follow: true }, answers, variables)
    expect(url).toBe('https://intranet.example.com/next')
  })
})

describe('the budgets', () => {
  it('end an answer that is too large', async () => {
    const answers = { [start]: () => new Response(new Uint8Array(2_000)) }
    expect(await send({ url: start, maxBytes: 1_999 }, answers)).toMatchObject({
      error: expect.stringContaining('larger'),
    })
    expect(await send({ url: start, maxBytes: 2_000 }, answers)).toMatchObject({ status: 200 })
  })

  it('end a request that takes too long', async () => {
    const guardedFetch = createGuardedFetch({} as Env, {
      send: ({ signal }) =>
        new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error))),
    })
    await expect(guardedFetch({ url: start, timeoutMs: 5 })).rejects.toThrow(/timeout|aborted/i)
  })
})

describe('the timer of a request', () => {
  const wait = async (answer: () => Response, request: Partial<GuardedRequest> = {}) => {
    const clock = createTestClock()
    replaceClock(clock)
    const signals: AbortSignal[] = []
    const guardedFetch = createGuardedFetch({} as Env, {
      send: ({ signal }) => {
        signals.push(signal)
        return Promise.resolve(answer())
      },
    })
    const { response } = await guardedFetch({ url: start, ...request })
    return { clock, response, signals }
  }
  const parts = (count: number) =>
    new Response(
      new ReadableStream({
        start(controller) {
          for (let n = 0; n < count; n++) controller.enqueue(new Uint8Array(10))
          controller.close()
        },
      }),
    )
  const broken = () => new Response(new ReadableStream({ pull: () => Promise.reject(new Error('broken')) }))

  it.each<[string, () => Response, (response: Response) => unknown]>([
    ['is read', () => parts(3), (response) => response.bytes()],
    ['is cancelled', () => parts(3), (response) => response.body?.cancel()],
    ['breaks', broken, (response) => response.bytes().catch(String)],
    ['is too large', () => parts(30), (response) => response.bytes().catch(String)],
    ['is empty', () => new Response(null, { status: 204 }), () => undefined],
  ])('ends when the body %s', async (_, answer, use) => {
    const { clock, response } = await wait(answer, { maxBytes: 100 })
    await use(response)
    expect(clock.pending()).toBe(0)
  })

  it('runs while the body is read, which passes through one stream', async () => {
    const streams = vi.spyOn(ReadableStream.prototype, 'pipeThrough')
    const { clock, signals } = await wait(() => new Response(new ReadableStream()), { timeoutMs: 1_000 })
    expect(streams).toHaveBeenCalledOnce()
    await clock.pass(1_000)
    expect(signals[0]?.reason).toMatchObject({ name: 'TimeoutError' })
  })

  it('ends when nothing is sent', async () => {
    const clock = createTestClock()
    replaceClock(clock)
    const guardedFetch = createGuardedFetch({} as Env, { send: () => Promise.reject(new Error('refused')) })
    await expect(guardedFetch({ url: start })).rejects.toThrow('refused')
    await expect(guardedFetch({ url: 'http://10.0.0.1/' })).rejects.toThrow('may not be called')
    expect(clock.pending()).toBe(0)
  })
})

describe('the ledger', () => {
  it('counts requests, bytes and refusals by host', async () => {
    const { uses } = await send({ url: start, follow: true }, { [start]: to('https://Two.example.com./x') })
    expect(uses).toEqual([
      { host: 'start.example.com', bytes: 0, isRefused: false },
      { host: 'two.example.com', bytes: 'answer of https://two.example.com./x'.length, isRefused: false },
    ])
    expect((await send({ url: 'http://10.0.0.1/' })).uses).toEqual([{ host: '10.0.0.1', bytes: 0, isRefused: true }])
  })
})

describe('the mark against loops', () => {
  it('is known to the deployment that has sent the request, and to no other', async () => {
    const own = { ENCRYPTION_KEY: 'one' }
    const { seen } = await send({ url: start }, {}, own)
    const headers = seen[0]?.headers ?? new Headers()
    expect([await isOwnRequest(headers, own), await isOwnRequest(headers, { ENCRYPTION_KEY: 'two' })]).toEqual([
      true,
      false,
    ])
    expect(await isOwnRequest(new Headers(), own)).toBe(false)
  })
})
