/** Tests that turns of a killed server end after its restart, without any request, and that its page goes on. */

import { spawnSync } from 'node:child_process'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Browser, chromium, launchBrowser } from './support/chromium.ts'
import { type Client, eventually, newTenant } from './support/client.ts'
import {
  type Begun,
  begin,
  clientTo,
  expectComplete,
  kill,
  model,
  once,
  onceOrUnknown,
  rolesOf,
  start,
  untilAnswered,
  writes,
  written,
} from './support/killed-turns.ts'
import type { Server } from './support/server.ts'

const wordsOfPage = 200

/** A page with a session, in which an answer comes. */
class WatchingPage {
  readonly session: string
  readonly page: Page
  readonly #browser: Browser

  private constructor(session: string, page: Page, browser: Browser) {
    this.session = session
    this.page = page
    this.#browser = browser
  }

  static async open(server: Server): Promise<WatchingPage> {
    const browser = await launchBrowser()
    const page = await (await browser.newContext({ locale: 'en-US' })).newPage()
    page.setDefaultTimeout(60_000)
    const client = clientTo(server)
    await page.goto((await client.post('/api/login/links')).json.url.replace('127.0.0.1', 'localhost'))
    const session = await client.newSession()
    await page.goto(`${server.url.replace('127.0.0.1', 'localhost')}/#/chat/${session}`)
    const watching = new WatchingPage(session, page, browser)
    await watching.composer.fill(`[[slow ttft=20 chunks=${wordsOfPage} gap=40 nonce=page]] count`)
    return watching
  }

  get composer() {
    return this.page.getByRole('textbox', { name: 'Message' })
  }

  /** Writes a draft while the server is gone. Returns whether the page says so, also after it has tried to connect. */
  async writeDraft(): Promise<boolean> {
    const notice = this.page.getByText('Reconnecting')
    await notice.waitFor()
    await this.composer.fill('a draft')
    await this.page.waitForTimeout(2_500)
    return notice.isVisible()
  }

  close = () => this.#browser.close()
}

describe('a server killed with a turn at every failpoint', () => {
  const places = [
    { place: 'before-model', answers: 2, allowed: once },
    { place: 'before-tool', answers: 2, allowed: onceOrUnknown },
    { place: 'during-tool', answers: 2, allowed: onceOrUnknown },
    { place: 'after-tool', answers: 2, allowed: onceOrUnknown },
    { place: 'before-final', answers: 3, allowed: once },
  ]
  const turns = new Map<string, Begun>()
  const later = '[[slow ttft=3000 chunks=3 nonce=later]]'
  let waiting: string
  let accepted: number
  let watching: WatchingPage | undefined
  let saidThatItWaits: boolean | undefined
  let back: Server
  const keyed = { key: 'tenant-key-that-no-file-has', client: undefined as Client | undefined, session: '' }
  let files: { readonly sealed: string; readonly plain: string }

  /** A tenant with a key of its own for the provider. */
  const storeKey = async (first: Server) => {
    const { client } = await newTenant(clientTo(first))
    const stored = await client.post('/api/credentials', { provider: 'openai', key: keyed.key })
    expect([stored.status, stored.json.last_four]).toEqual([201, '-has'])
    keyed.client = client
    keyed.session = await client.newSession()
    expect(await sayWithKey(client, 'before')).toBe('before')
  }
  const sayWithKey = async (client: Client, word: string): Promise<string> =>
    (await client.chat(keyed.session, `[[say ${word}]] [[slow ttft=1 nonce=keyed]]`)).json.output

  beforeAll(async () => {
    model.reset({ bodies: true })
    const first = await start({ FAILPOINTS: places.map(({ place }) => `${place}=hang@1`).join(',') })
    watching = chromium === undefined ? undefined : await WatchingPage.open(first)
    // Each stops at the first failpoint that none before it has used up.
    for (const { place } of places) {
      turns.set(place, await begin(first, writes(place)))
      await first.printed(`FP:${place}`)
    }
    await storeKey(first)
    await watching?.composer.press('Enter')
    const talking = await begin(first, '[[slow gap=40 chunks=60 nonce=mid-stream]]')
    turns.set('mid-stream', talking)
    await talking.listener.until(({ type, id = 0 }) => type === 'message.delta' && id > 8)
    waiting = await clientTo(first).newSession()
    accepted = (await clientTo(first).post(`/api/sessions/${waiting}/steer`, { input: later })).status
    await watching?.page.getByText('word5 ').waitFor()
    await kill(first)
    const filesWith = (text: string) => spawnSync('grep', ['-rlaF', text, first.state], { encoding: 'utf8' }).stdout
    files = { sealed: filesWith('"sealed":"v2.'), plain: filesWith(keyed.key) }
    for (const { chat, listener } of turns.values()) {
      await chat
      await eventually(listener.ended, Boolean)
    }
    saidThatItWaits = await watching?.writeDraft()
    back = await start({}, Number(new URL(first.url).port))
  }, 240_000)
  afterAll(async () => {
    await watching?.close()
    await kill(back)
  })

  it.each(places)('$place: goes on by itself, and writes once', async ({ place, answers, allowed }) => {
    const turn = turns.get(place) as Begun
    await untilAnswered(back, turn.session, { nonce: place, answers })
    await expectComplete(back, turn)
    expect(await written(clientTo(back), turn.session)).toMatch(allowed)
  })

  it('in the middle of an answer: the session has one answer', async () => {
    const turn = turns.get('mid-stream') as Begun
    expect(turn.listener.events.length).toBeGreaterThan(5)
    await untilAnswered(back, turn.session, { nonce: 'mid-stream', answers: 1 })
    await expectComplete(back, turn)
    const messages = await clientTo(back).messages(turn.session)
    expect(rolesOf(messages)).toEqual(['user', 'assistant'])
    expect(messages[1]?.content?.trim().split(' ')).toEqual(Array.from({ length: 60 }, (_, n) => `word${n}`))
  })

  it('after accepting a message without an open request: it is answered', async () => {
    expect(accepted).toBe(202)
    await untilAnswered(back, waiting, { nonce: 'later', answers: 1 })
    const messages = await clientTo(back).messages(waiting)
    expect(messages.map(({ role, content }) => [role, content?.trim()])).toEqual([
      ['user', later],
      ['assistant', 'word0 word1 word2'],
    ])
  })

  it('the key of a tenant is used again, and no file contains it', async () => {
    expect(files.sealed).not.toBe('')
    expect(files.plain).toBe('')
    const { key } = keyed.client as Client
    expect(await sayWithKey(clientTo(back).as(key), 'after')).toBe('after')
    const asked = model.journal().filter(({ nonce }) => nonce === 'keyed')
    const bearers = asked.map(({ headers }) => (headers as Record<string, string>)['authorization'])
    expect(bearers).toEqual([`Bearer ${keyed.key}`, `Bearer ${keyed.key}`])
  })

  it.skipIf(chromium === undefined)('the page goes on by itself, and shows each word once', async () => {
    const { page, composer, session } = watching as WatchingPage
    expect(saidThatItWaits).toBe(true)
    await page.getByRole('button', { name: 'Answer again' }).waitFor()
    const words = (await page.locator('.block.text').innerText()).trim().split(/\s+/)
    expect(words).toEqual(Array.from({ length: wordsOfPage }, (_, at) => `word${at}`))
    await expect.poll(() => page.locator('.block.user').count()).toBe(1)
    await expect.poll(() => composer.inputValue()).toBe('a draft')
    const messages = await clientTo(back).messages(session)
    expect(messages.filter(({ role }) => role === 'user')).toHaveLength(1)
  })

  it('logs no error on the way back', () => {
    expect(back.log()).not.toMatch(/ERROR|Unexpected error|Uncaught/)
  })
})
