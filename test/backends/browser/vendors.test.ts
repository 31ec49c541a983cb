/** Tests what the vendors of browsers are sent, and what their answers mean. None of them is called. */

import { describe, expect, it } from 'vitest'
import { CdpError, type CdpSocket } from '#backends/browser/cdp.ts'
import { BrowserProblem } from '#backends/browser/element.ts'
import { type BrowserWires, openBinding, openBrowserbase, openEndpoint, openSteel } from '#backends/browser/vendors.ts'

type Asked = { readonly url: string; readonly method: string; readonly headers: Headers; readonly body: unknown }

function fakeVendor(...answers: Response[]) {
  const asked: Asked[] = []
  const sockets: string[] = []
  const judged: string[] = []
  const wires: BrowserWires = {
    schedule: () => () => undefined,
    openSocket: async (url) => {
      sockets.push(url)
      return { send: () => undefined, close: () => undefined, addEventListener: () => undefined } satisfies CdpSocket
    },
    fetch: async () => new Response(null, { status: 500 }),
  }
  const options = {
    baseUrl: 'https://api.vendor.example',
    key: 'k-1',
    ask: async (url: string, { method = 'GET', headers, body }: RequestInit) => {
      asked.push({ url, method, headers: new Headers(headers), body: body ? JSON.parse(String(body)) : undefined })
      return answers.shift() ?? new Response(null, { status: 500 })
    },
    requireAllowed: async (url: string) => void judged.push(url),
  }
  return { asked, sockets, judged, wires, options }
}

describe('Browserbase', () => {
  it('is asked for a browser that stays, connected at the address it names, and asked to release it', async () => {
    const answer = { id: 'bb-1', connectUrl: 'wss://connect.vendor.example/?signingKey=s' }
    const fake = fakeVendor(Response.json(answer), Response.json({}))
    const vendor = openBrowserbase(fake.options, 'project-1', fake.wires)
    const acquired = await vendor.acquire()
    expect(acquired).toEqual({ sessionId: 'bb-1', url: answer.connectUrl })
    await vendor.connect(acquired)
    expect([fake.sockets, fake.judged]).toEqual([[answer.connectUrl], ['https://connect.vendor.example/?signingKey=s']])
    await vendor.release(acquired)
    expect(fake.asked.map(({ method, url, body }) => [method, url, body])).toEqual([
      ['POST', 'https://api.vendor.example/v1/sessions', { projectId: 'project-1', keepAlive: true, timeout: 900 }],
      ['POST', 'https://api.vendor.example/v1/sessions/bb-1', { projectId: 'project-1', status: 'REQUEST_RELEASE' }],
    ])
    expect(fake.asked[0]?.headers.get('x-bb-api-key')).toBe('k-1')
  })
})

describe('Steel', () => {
  it('is asked for a browser, connected with key and session, and asked to release it', async () => {
    const fake = fakeVendor(
      Response.json({ id: 'st-1', websocketUrl: 'wss://connect.vendor.example' }),
      new Response(null, { status: 404 }),
    )
    const vendor = openSteel(fake.options, fake.wires)
    const acquired = await vendor.acquire()
    expect(acquired.url).toBe('wss://connect.vendor.example/?apiKey=k-1&sessionId=st-1')
    await vendor.release(acquired)
    expect(fake.asked.map(({ method, url }) => `${method} ${url}`)).toEqual([
      'POST https://api.vendor.example/v1/sessions',
      'POST https://api.vendor.example/v1/sessions/st-1/release',
    ])
    expect([fake.asked[0]?.body, fake.asked[0]?.headers.get('steel-api-key')]).toEqual([{ timeout: 900_000 }, 'k-1'])
  })

  it.each([
    [429, { 'retry-after': '7' }, 'Try again in 7 s'],
    [429, {}, 'in a minute'],
    [401, {}, 'refused the key or the plan (401)'],
    [402, {}, 'refused the key or the plan (402)'],
    [500, {}, 'could not open a browser (500)'],
  ])('that answers %i says what to do', async (status, headers, text) => {
    const fake = fakeVendor(new Response('no', { status, headers }))
    await expect(openSteel(fake.options, fake.wires).acquire()).rejects.toThrow(text)
  })

  it.each([
    ['HTML', () => new Response('<!doctype html><title>Sign in</title>')],
    ['nothing', () => new Response('')],
    ['null', () => Response.json(null)],
    ['an empty object', () => Response.json({})],
    ['no address', () => Response.json({ id: 'st-1', websocketUrl: 'soon', connectUrl: 'soon' })],
    ['an id that is a path', () => Response.json({ id: '../x', websocketUrl: 'wss://a', connectUrl: 'wss://a' })],
  ])('and others that answer with %s have opened no browser', async (_name, answer) => {
    const fake = fakeVendor(answer(), answer())
    const binding = { fetch: async () => answer() }
    const vendors = [
      openSteel(fake.options, fake.wires),
      openBrowserbase(fake.options, undefined, fake.wires),
      openBinding(binding, 180_000, fake.wires),
      openEndpoint(
        { url: 'http://browser.example', reachesPrivate: false },
        { ...fake.wires, fetch: async () => answer() },
      ),
    ]
    for (const vendor of vendors) {
      const failure: unknown = await vendor.acquire().catch((error: unknown) => error)
      expect(failure).toBeInstanceOf(BrowserProblem)
      expect(String(failure)).toContain('unknown form')
    }
  })

  it('that does not confirm a release is asked again later', async () => {
    const fake = fakeVendor(new Response(null, { status: 503 }))
    await expect(openSteel(fake.options, fake.wires).release({ sessionId: 'st-1' })).rejects.toThrow('503')
  })
})

describe('Browser Run', () => {
  it('whose browser is gone refuses the connection', async () => {
    const binding = { fetch: async () => new Response('gone', { status: 404 }) }
    const vendor = openBinding(binding, 180_000, fakeVendor().wires)
    await expect(vendor.connect({ sessionId: 'x' })).rejects.toThrow(CdpError)
    await vendor.release({ sessionId: 'x' })
  })
})
