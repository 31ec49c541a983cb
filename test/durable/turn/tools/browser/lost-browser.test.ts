/** Tests what a session does when its browser, its connection or its own object is lost in a call, and what browsers cost. */

import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { deployment } from '#test/support/deployment.ts'
import { calls, model, says, type ScriptedCall, until } from '#test/support/scripted-model.ts'
import { adminKey, applyMigrations, call, newSession, newTenant } from '#test/worker/client.ts'
import { listMessages } from '#test/worker/listen.ts'
import { fireAlarm, inObject, kill } from '#test/durable/support/object.ts'
import { ScriptedBrowser } from './scripted-browser.ts'

let browser: ScriptedBrowser

beforeAll(async () => {
  await applyMigrations()
  // Browsers that other files of this isolate left open count too.
  await call('PATCH', '/api/settings', { body: { limits: { browsers: 100 } } })
})
beforeEach(() => {
  browser = new ScriptedBrowser()
  deployment.browser = browser as unknown as NonNullable<typeof deployment.browser>
})
afterEach(() => {
  delete deployment.browser
})

const navigate: ScriptedCall = { name: 'browser_navigate', input: { url: 'https://shop.example.com/' } }
const click: ScriptedCall = { name: 'browser_click', input: { ref: 'e3' } }
const snapshot: ScriptedCall = { name: 'browser_snapshot', input: {} }

/** A session whose turn makes these calls. */
async function session(steps: readonly ScriptedCall[], key = adminKey) {
  const scripted = model([...steps.map((one) => calls(one)), says('Done.')])
  const { id } = await newSession({ model: scripted.id }, key)
  const texts = async () =>
    (await listMessages<{ readonly role: string; readonly content: unknown }>(id, key))
      .filter(({ role }) => role === 'tool')
      .map(({ content }) => String(content))
  const start = async () => {
    const { status } = await call('POST', `/api/sessions/${id}/chat`, { key, body: { input: 'go on', wait: false } })
    expect(status).toBe(202)
  }
  const end = () =>
    until(async () => {
      const found = await texts()
      const { body } = await call<{ readonly status: string }>('GET', `/api/sessions/${id}`, { key })
      return found.length === steps.length && body.status === 'idle' ? found : undefined
    })
  const run = async () => {
    await start()
    return end()
  }
  return { id, model: scripted.id, start, end, run }
}

describe('a browser that is lost in a call', () => {
  it.each([
    ['crashesAt', 'Runtime.callFunctionOn', 'the page crashed'],
    ['dropsAt', 'DOM.resolveNode', 'may have taken effect'],
  ] as const)('%s %s: the model is told', async (how, method, text) => {
    const { run } = await session([navigate, click])
    browser[how] = method
    expect((await run())[1]).toContain(text)
  })

  it.each([404, 410])('whose vendor answers %i is replaced by the next page', async (status) => {
    const { start, end } = await session([navigate, click, navigate])
    browser.onCommand = (method) => {
      if (method === 'Accessibility.getFullAXTree' && browser.countOf('POST') === 1)
        browser.refusedConnections.push(() => new Response('gone', { status }))
    }
    await start()
    const [, refused, opened] = await end()
    expect(refused).toContain('it ended outside')
    expect(JSON.parse(opened ?? '')).toMatchObject({ success: true, note: expect.stringContaining('are lost') })
  })

  it('that gets a download instead of a page says so', async () => {
    const { run } = await session([navigate])
    browser.isDownload = true
    expect((await run())[0]).toContain('is a download or has no page')
  })
})

describe('an object that dies in a call', () => {
  const dieAt = async (id: string, method: string) => {
    await until(() => browser.hangs)
    expect(browser.commands.at(-1)).toBe(method)
    await kill(id)
    browser.hangsAt = undefined
    await fireAlarm(id)
  }

  it('between a click and its result: the outcome is unknown, nothing is clicked twice, and a snapshot works', async () => {
    const { id, start, end } = await session([navigate, click, snapshot])
    browser.hangsAt = 'Runtime.callFunctionOn'
    await start()
    await dieAt(id, 'Runtime.callFunctionOn')
    const [, clicked, seen] = await end()
    expect(clicked).toContain('unknown')
    expect(browser.commands.filter((method) => method === 'Runtime.callFunctionOn')).toHaveLength(1)
    expect(JSON.parse(seen ?? '')).toMatchObject({ success: true })
    expect(browser.countOf('POST')).toBe(1)
  })

  it('between acquiring a browser and storing it: another is opened, and the first ends by itself', async () => {
    const { id, start, end } = await session([navigate])
    browser.hangsAt = 'Target.createTarget'
    await start()
    await dieAt(id, 'Target.createTarget')
    expect(JSON.parse((await end())[0] ?? '')).toMatchObject({ success: true })
    expect(browser.asked.filter((one) => one.startsWith('POST'))).toEqual(
      Array.from({ length: 2 }, () => 'POST /v1/devtools/browser?keep_alive=180000'),
    )
    const [{ body }] = await inObject(
      id,
      (_object, { storage: { sql } }) =>
        sql.exec<{ body: string }>('SELECT body FROM browser').toArray() as [{ body: string }],
    )
    expect(JSON.parse(body)).toMatchObject({ at: 'open', sessionId: browser.nameOf(2) })
  })
})

describe('what browsers cost', () => {
  const settings = (key: string, body: object) => call('PATCH', '/api/settings', { key, body })

  it('is part of the usage, by the hour', async () => {
    const { key } = await newTenant()
    expect((await settings(key, { browser: { usd_per_hour: 1_000 } })).status).toBe(200)
    await (await session([navigate], key)).run()
    type Report = { readonly data: readonly { readonly key: string; readonly cost_usd: number }[] }
    const found = await until(async () => {
      const { data } = (await call<Report>('GET', '/api/usage?group=model', { key })).body
      return data.find((one) => one.key === 'browser/binding')
    })
    expect(found.cost_usd).toBeGreaterThan(0)
  })

  it('counts for the limits in USD', async () => {
    const { key } = await newTenant()
    const { id, model: free } = await session([navigate], key)
    const models = { [free]: { prices: { input: 0, output: 0 } } }
    const body = { browser: { usd_per_hour: 1_000 }, limits: { usd_per_session: 0.000_001 }, models }
    expect((await settings(key, body)).status).toBe(200)
    const ask = () => call('POST', `/api/sessions/${id}/chat`, { key, body: { input: 'go' } })
    await ask()
    expect(await ask()).toMatchObject({ status: 429, body: { error: { param: 'usd_per_session' } } })
  })

  it('has to be known where a limit in USD holds: else none is opened', async () => {
    const { key } = await newTenant()
    const { model: free, run } = await session([navigate], key)
    const models = { [free]: { prices: { input: 0, output: 0 } } }
    const body = { browser: { backend: 'steel' }, limits: { usd_per_day: 1 }, models }
    expect((await settings(key, body)).status).toBe(200)
    const credential = { provider: 'steel', key: 'steel-key-0123456789' }
    expect((await call('POST', '/api/credentials', { key, body: credential })).status).toBe(201)
    expect((await run())[0]).toContain('browser.usd_per_hour')
  })

  it('takes no place among the browsers of the tenant where the vendor has none', async () => {
    const { key } = await newTenant()
    expect((await settings(key, { limits: { browsers: 1 } })).status).toBe(200)
    browser.refusals.push(() => new Response('', { status: 429, headers: { 'retry-after': '20' } }))
    expect((await (await session([navigate], key)).run())[0]).toContain('Try again in 20 s')
    expect((await (await session([navigate], key)).run())[0]).toContain('A title')
  })
})
