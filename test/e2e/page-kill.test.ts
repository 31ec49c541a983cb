/** Tests that the page survives the death of the server. Needs a Chromium. */

import { afterAll, describe, expect, it } from 'vitest'
import { startModelServer } from '../support/model-server/server.ts'
import { type Browser, chromium, launchBrowser } from './support/chromium.ts'
import { createClient } from './support/client.ts'
import { deleteState, newState, type Server, startServer } from './support/server.ts'
import { modelSettings } from './support/shared.ts'

describe.skipIf(chromium === undefined)('the page of a server that dies', () => {
  const running = new Set<Server>()
  const state = newState()
  let browser: Browser | undefined
  afterAll(async () => {
    await browser?.close()
    for (const server of running) await server.kill()
    deleteState(state)
  })

  it('says that it is gone, goes on by itself, and shows each word once', { timeout: 180_000 }, async () => {
    const model = await startModelServer()
    const start = async (port?: number) => {
      const server = await startServer({ state, env: modelSettings(model.url), ...(port && { port }) })
      running.add(server)
      return server
    }
    const server = await start()
    const origin = server.url.replace('127.0.0.1', 'localhost')
    const client = createClient(server.url, server.key)
    browser = await launchBrowser()
    const page = await (await browser.newContext({ locale: 'en-US' })).newPage()
    page.setDefaultTimeout(60_000)
    await page.goto((await client.post('/api/login/links')).json.url.replace('127.0.0.1', 'localhost'))
    const id = await client.newSession()
    await page.goto(`${origin}/#/chat/${id}`)
    const composer = page.getByRole('textbox', { name: 'Message' })
    await composer.fill('[[slow ttft=20 chunks=120 gap=40]] count')
    await composer.press('Enter')
    await page.getByText('word20 ').waitFor()
    await server.kill()
    running.delete(server)
    const notice = page.getByText('Reconnecting')
    await notice.waitFor()
    await composer.fill('a draft')
    const [back] = await Promise.all([
      start(Number(new URL(server.url).port)),
      // It stays until the server is back, also while the page tries to connect.
      page.waitForTimeout(2_500).then(async () => expect(await notice.isVisible()).toBe(true)),
    ])
    await page.getByRole('button', { name: 'Answer again' }).waitFor()
    const words = (await page.locator('.block.text').innerText()).trim().split(/\s+/)
    expect(words).toEqual(Array.from({ length: 120 }, (_, at) => `word${at}`))
    await expect.poll(() => page.locator('.block.user').count()).toBe(1)
    await expect.poll(() => composer.inputValue()).toBe('a draft')
    const messages = await createClient(back.url, back.key).messages(id)
    expect(messages.filter(({ role }) => role === 'user')).toHaveLength(1)
    await model.close()
  })
})
