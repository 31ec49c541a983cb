/** Tests the browser of a session: its row, its alarm, evictions and losses, with a scripted browser. */

import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { replaceClock } from '#durable/platform/clock.ts'
import { createSkippingClock } from '#test/support/clock.ts'
import { deployment } from '#test/support/deployment.ts'
import { outage } from '#test/support/outage.ts'
import { calls, model, type Reply, says, type ScriptedCall, until } from '#test/support/scripted-model.ts'
import { applyMigrations, bindings, call, newSession, newTenant, request } from '#test/worker/client.ts'
import { listMessages } from '#test/worker/listen.ts'
import { alarmOf, evict, fireAlarm, inObject } from '#test/durable/support/object.ts'
import { ScriptedBrowser } from './scripted-browser.ts'

let browser: ScriptedBrowser

beforeAll(async () => {
  await applyMigrations()
  await call('PATCH', '/api/settings', { body: { limits: { browsers: 100 } } })
})
beforeEach(() => {
  browser = new ScriptedBrowser()
  deployment.browser = browser as unknown as NonNullable<typeof deployment.browser>
})
afterEach(() => {
  delete deployment.browser
  outage.restore()
  replaceClock()
})

const url = 'https://shop.example.com/'
const navigate: ScriptedCall = { name: 'browser_navigate', input: { url } }
const click: ScriptedCall = { name: 'browser_click', input: { ref: 'e3' } }
const snapshot: ScriptedCall = { name: 'browser_snapshot', input: {} }

type Result = Readonly<Record<string, unknown>>
type Options = { readonly settings?: object; readonly as?: Parameters<typeof call>[2] }

/** Each step is one turn with these calls. */
async function session(steps: readonly (readonly ScriptedCall[])[], { settings = {} }: Options = {}) {
  const replies: Reply[] = steps.flatMap((step) => [...step.map((one) => calls(one)), says('Done.')])
  const scripted = model(replies)
  const { id } = await newSession({ model: scripted.id, settings })
  const turn = async (): Promise<readonly Result[]> => {
    const before = (await results(id)).length
    const { status } = await call('POST', `/api/sessions/${id}/chat`, { body: { input: 'go on' } })
    expect(status).toBe(200)
    return (await results(id)).slice(before)
  }
  return { id, scripted, turn }
}

const results = async (id: string): Promise<readonly Result[]> =>
  (await listMessages<{ readonly role: string; readonly content: unknown }>(id))
    .filter(({ role }) => role === 'tool')
    .map(({ content }) => JSON.parse(String(content)) as Result)

/** Two minutes and more have gone by since the last use. */
async function becomeIdle(id: string): Promise<void> {
  await inObject(id, (_object, { storage: { sql } }) => {
    sql.exec(
      "UPDATE browser SET body = json_set(body, '$.usedAt', ?) WHERE json_extract(body, '$.at') = 'open'",
      Date.now() - 121_000,
    )
    sql.exec(
      "UPDATE browser SET body = json_set(body, '$.nextAt', ?) WHERE json_extract(body, '$.at') = 'closing'",
      Date.now() - 1,
    )
  })
  await evict(id)
}

describe('the browser of a session', () => {
  it('opens with the first page, and its references outlast an eviction of the object', async () => {
    const { id, turn } = await session([[navigate], [click]])
    const [opened] = await turn()
    expect(opened).toMatchObject({ success: true, url, title: 'A title', element_count: 1 })
    expect(opened?.['snapshot']).toContain('- button "Go" [ref=e3]')
    expect(browser.asked[0]).toBe('POST /v1/devtools/browser?keep_alive=180000')
    await evict(id)
    expect(await turn()).toMatchObject([{ success: true, clicked: 'e3' }])
    expect([browser.countOf('POST'), browser.countOf('DELETE')]).toEqual([1, 0])
  })

  it('pauses requests before anything else happens in the page, and keeps no connection', async () => {
    const { turn } = await session([[navigate]])
    await turn()
    expect(browser.commands.indexOf('Fetch.enable')).toBeLessThan(browser.commands.indexOf('Page.navigate'))
    expect(browser.commands).toContain('Browser.setDownloadBehavior')
  })

  it('refuses references after the page went elsewhere', async () => {
    const { turn } = await session([[navigate], [click, snapshot, click]])
    await turn()
    browser.loader++
    expect(await turn()).toMatchObject([
      { error: expect.stringContaining('The page changed') },
      { success: true },
      { success: true, clicked: 'e3' },
    ])
  })

  it('needs a page first, and refuses what is no public page', async () => {
    const { turn } = await session([
      [
        click,
        { name: 'browser_navigate', input: { url: 'http://169.254.169.254/' } },
        { name: 'browser_navigate', input: { url: 'file:///etc/passwd' } },
      ],
    ])
    const [none, metadata, file] = await turn()
    expect(none?.['error']).toContain('Open one with browser_navigate')
    expect(metadata?.['error']).toContain('link-local')
    expect(file?.['error']).toContain('file: are not opened')
    expect(browser.commands).not.toContain('Page.navigate')
  })

  it('is closed once when it was idle, and the next call says so and opens another', async () => {
    const { id, turn } = await session([[navigate], [click, navigate]])
    await turn()
    const alarm = (await alarmOf(id)) ?? 0
    expect(alarm).toBeGreaterThan(Date.now())
    await becomeIdle(id)
    await fireAlarm(id)
    await fireAlarm(id)
    expect([browser.countOf('DELETE'), browser.running.size]).toEqual([1, 0])
    const [refused, opened] = await turn()
    expect(refused?.['error']).toContain(
      `it was not used for a while. Its logins, forms and pages are lost; the last page was ${url}`,
    )
    expect(opened).toMatchObject({ success: true, note: expect.stringContaining('it was not used for a while') })
    expect([browser.countOf('POST'), browser.countOf('DELETE')]).toEqual([2, 1])
  })

  it('is tried to be closed again, three times at most', async () => {
    const { id, turn } = await session([[navigate]])
    await turn()
    for (let n = 0; n < 4; n++) {
      await becomeIdle(id)
      browser.refusals.push(() => new Response('later', { status: 503 }))
      await fireAlarm(id)
    }
    expect(browser.countOf('DELETE')).toBe(3)
  })

  it('stays open as long as the setting says', async () => {
    const { id, turn } = await session([[navigate]], { settings: { browser: { idle_seconds: 500 } } })
    await turn()
    expect(browser.asked[0]).toContain('keep_alive=560000')
    await becomeIdle(id)
    await fireAlarm(id)
    expect(browser.countOf('DELETE')).toBe(0)
  })

  it('ends with its session', async () => {
    const { id, turn } = await session([[navigate]])
    await turn()
    expect((await call('DELETE', `/api/sessions/${id}`)).status).toBe(204)
    expect([browser.countOf('DELETE'), browser.running.size]).toEqual([1, 0])
  })

  it('that ended outside is replaced by the next page, which says so', async () => {
    const { turn } = await session([[navigate], [click], [navigate], [navigate]])
    await turn()
    browser.running.clear()
    expect(await turn()).toMatchObject([{ error: expect.stringContaining('it ended outside') }])
    expect(await turn()).toMatchObject([{ success: true, note: expect.stringContaining('are lost') }])
    browser.running.clear()
    expect(await turn()).toMatchObject([{ success: true, note: expect.stringContaining('it ended outside') }])
  })

  it('whose connection is lost in a call says that the outcome is unknown, and stays', async () => {
    const { turn } = await session([[navigate], [click, snapshot]])
    await turn()
    browser.dropsAt = 'Runtime.callFunctionOn'
    expect(await turn()).toMatchObject([{ error: expect.stringContaining('may have taken effect') }, { success: true }])
    expect(browser.countOf('POST')).toBe(1)
  })

  it('is not opened without room at the vendor, which says when', async () => {
    const { turn } = await session([[navigate]])
    browser.refusals.push(() => new Response('', { status: 429, headers: { 'retry-after': '20' } }))
    expect(await turn()).toMatchObject([{ error: expect.stringContaining('Try again in 20 s') }])
  })

  it('keeps the choice for a dialog', async () => {
    const choose = { name: 'browser_dialog', input: { action: 'accept', prompt_text: 'Bob' } }
    const { id, turn } = await session([[navigate, choose]])
    expect((await turn())[1]).toEqual({ success: true, next_dialog: 'accepted' })
    const row = await inObject(
      id,
      (_object, { storage: { sql } }) =>
        JSON.parse(sql.exec<{ body: string }>('SELECT body FROM browser').one().body) as Result,
    )
    expect(row).toMatchObject({
      at: 'open',
      backend: 'binding',
      sessionId: browser.nameOf(1),
      targetId: 'target',
      snapshotNo: 1,
      url,
      dialog: { isAccepted: true, text: 'Bob' },
    })
  })

  it('evaluates no expression unless the setting allows it, and then a person is asked', async () => {
    const evaluate = { name: 'browser_console', input: { expression: 'document.cookie' } }
    const { turn } = await session([[navigate, evaluate]])
    expect((await turn())[1]?.['error']).toContain('browser.allow_expressions')
    const { key } = await newTenant()
    const body = { approvals: { mode: 'manual' }, browser: { allow_expressions: true } }
    expect((await call('PATCH', '/api/settings', { key, body })).status).toBe(200)
    const { id } = await newSession({ model: model([calls(navigate), calls(evaluate)]).id }, key)
    void call('POST', `/api/sessions/${id}/chat`, { key, body: { input: 'go' } })
    const [asked] = await until(async () => {
      const { data } = (await call<{ data: readonly Result[] }>('GET', '/api/approvals', { key })).body
      return data.length ? data : undefined
    })
    expect(asked).toMatchObject({ tool: 'browser_console', input: { expression: 'document.cookie' } })
    expect(browser.commands).not.toContain('Runtime.enable')
    await call('DELETE', `/api/sessions/${id}`, { key })
  })

  it('shows its screenshot to a model that sees, and fences what pages say', async () => {
    const look = { name: 'browser_vision', input: { question: 'What is there?' } }
    const replies = [calls(navigate), calls(look), says('A picture.')]
    const scripted = model(replies)
    const { id } = await newSession({ model: scripted.id, settings: { models: { [scripted.id]: { images: true } } } })
    await call('POST', `/api/sessions/${id}/chat`, { body: { input: 'look' } })
    const sent = JSON.stringify(scripted.requests.at(-1)?.messages)
    expect(sent).toContain(btoa('a picture'))
    expect(sent).toMatch(/<untrusted-\w+ source=\\"browser_navigate\\">[^<]*Ignore all earlier instructions/)
  })
})

describe('a screenshot for a model that does not see', () => {
  it('goes to the model of auxiliary.vision with the question, and its answer to the conversation', async () => {
    const seeing = model([says('A red square.')])
    const look = { name: 'browser_vision', input: { question: 'Which colour is it?' } }
    const scripted = model([calls(navigate), calls(look), says('Red.')])
    const settings = {
      auxiliary: { vision: { model: seeing.id } },
      models: { [scripted.id]: { images: false }, [seeing.id]: { images: true } },
    }
    const { id } = await newSession({ model: scripted.id, settings })
    await call('POST', `/api/sessions/${id}/chat`, { body: { input: 'look' } })
    const [asked] = seeing.requests.map(({ messages }) => JSON.stringify(messages))
    expect(asked).toContain(btoa('a picture'))
    expect(asked).toContain('Which colour is it?')
    const told = JSON.stringify(scripted.requests.at(-1)?.messages)
    expect(told).toContain('A red square.')
    expect(told).not.toContain(btoa('a picture'))
  })
})

describe('the file of a screenshot', () => {
  const look = { name: 'browser_vision', input: { question: 'What is there?' } }
  const stored = async (id: string) =>
    (await bindings.BLOBS?.list({ prefix: `t/default/s/${id}/media/` }))?.objects.map(({ key }) => key)

  async function lookOnce() {
    const seeing = model([says('A red square.')])
    const scripted = model([calls(navigate), calls(look), says('Red.')])
    const settings = {
      auxiliary: { vision: { model: seeing.id } },
      models: { [scripted.id]: { images: false }, [seeing.id]: { images: true } },
    }
    const { id } = await newSession({ model: scripted.id, settings })
    const { body } = await call<Result>('POST', `/api/sessions/${id}/chat`, { body: { input: 'look' } })
    return { id, run: body, seen: (await results(id))[1] ?? {} }
  }

  it('is in R2 and the workspace for a day, and attached only when it is named', async () => {
    const { id, run, seen } = await lookOnce()
    const path = String(seen['screenshot_path'])
    expect(path).toMatch(/^media\/screenshot-[0-9a-z]+\.jpg$/)
    expect(run['attachments']).toEqual([])
    expect(await stored(id)).toEqual([`t/default/s/${id}/${path}`])
    expect(await (await request('GET', `/api/sessions/${id}/files/${path}`)).text()).toBe('a picture')
    const clock = createSkippingClock()
    replaceClock(clock)
    clock.pass(23 * 3_600_000)
    await fireAlarm(id)
    expect(await stored(id)).toHaveLength(1)
    await evict(id)
    clock.pass(2 * 3_600_000)
    outage.beforeDelete = () => Promise.reject(new Error('R2 is down'))
    await fireAlarm(id)
    expect(await stored(id)).toHaveLength(1)
    outage.restore()
    clock.pass(10_000)
    await fireAlarm(id)
    expect(await stored(id)).toEqual([])
    expect((await request('GET', `/api/sessions/${id}/files/${path}`)).status).toBe(404)
    expect(
      await inObject(id, (_object, { storage: { sql } }) => sql.exec('SELECT * FROM media_call').toArray()),
    ).toEqual([])
  })

  it('is missing when R2 fails, and the screenshot is still looked at', async () => {
    outage.beforePut = () => Promise.reject(new Error('R2 is down'))
    const { seen } = await lookOnce()
    expect(seen).toMatchObject({ success: true, analysis: 'A red square.' })
    expect(seen).not.toHaveProperty('screenshot_path')
  })
})

describe('the browsers of a tenant', () => {
  it('are limited', async () => {
    const tenant = await newTenant()
    const body = { limits: { browsers: 1 } }
    expect((await call('PATCH', '/api/settings', { key: tenant.key, body })).status).toBe(200)
    const open = async () => {
      const scripted = model([calls(navigate), says('Done.')])
      const { body: created } = await call<{ id: string }>('POST', '/api/sessions', {
        key: tenant.key,
        body: { model: scripted.id },
      })
      await call('POST', `/api/sessions/${created.id}/chat`, { key: tenant.key, body: { input: 'go' } })
      return { id: created.id, seen: JSON.stringify(scripted.requests.at(-1)?.messages) }
    }
    const first = await open()
    expect(first.seen).toContain('A title')
    expect((await open()).seen).toContain('1 sessions have a browser already')
    await call('DELETE', `/api/sessions/${first.id}`, { key: tenant.key })
    expect((await open()).seen).toContain('A title')
  })
})

describe('without a browser', () => {
  type Listed = {
    readonly data: readonly { readonly name: string; readonly available: boolean; readonly reason: string | null }[]
  }

  it('the tools are hidden from the model, and the API says why', async () => {
    const all = async () => (await call<Listed>('GET', '/api/tools?limit=200')).body.data
    expect((await all()).find(({ name }) => name === 'browser_cdp')).toMatchObject({ available: false })
    const listed = async () => (await all()).filter(({ name }) => name.startsWith('browser_') && name !== 'browser_cdp')
    expect((await listed()).every(({ available }) => available)).toBe(true)
    delete deployment.browser
    const hidden = await listed()
    expect(hidden).toHaveLength(15)
    for (const { available, reason } of hidden)
      expect([available, reason]).toEqual([false, expect.stringContaining('BROWSER_CDP_URL')])
    const scripted = model([says('Hello.')])
    const { id } = await newSession({ model: scripted.id })
    await call('POST', `/api/sessions/${id}/chat`, { body: { input: 'hi' } })
    expect(scripted.requests[0]?.tools?.map(({ function: { name } }) => name)).not.toContain('browser_navigate')
  })
})
