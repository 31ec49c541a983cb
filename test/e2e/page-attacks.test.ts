/** Tests that nothing a model writes makes the page request, run or draw what it should not. Needs a Chromium. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { firstRows } from '../support/long.ts'
import { attacks, formedAttacks } from './support/attacks.ts'
import { type Browser, chromium, launchBrowser } from './support/chromium.ts'
import { newTenant } from './support/client.ts'
import { owner } from './support/here.ts'
import { leave, origin, signIn } from './support/page.ts'

/** Two messages each: the page shows the last fifty messages of a session. */
const attacksOfSession = 24
/** Elements, attributes and addresses that the text of a model never becomes. */
const forbidden = `
  script, iframe, object, embed, base, link, meta, style, form, video, audio, picture,
  svg image, svg use, svg script, math a, math [href], template, noscript, input[type=image],
  img:not([src^="data:image/"]), a:not([href^="http"]):not([href^="mailto:"]), [style]:not(math, math *), [style*=url], [background],
  details:not(.fold, .sources)
`
const handlers = `[...document.querySelectorAll('.list *')].flatMap((one) => one.getAttributeNames()).filter((name) => name.startsWith('on'))`

const markup = attacks.filter((attack) => attack.startsWith('<') && attack.length < 1_000)
const inChunks = (size: number, list: readonly string[]): readonly (readonly string[])[] =>
  Array.from({ length: Math.ceil(list.length / size) }, (_, at) => list.slice(at * size, (at + 1) * size))

const texts = inChunks(120, formedAttacks).map((some, at) => [`text${at}.md`, some.join('\n\n')] as const)
const pages = inChunks(12, attacks).map(
  (some, at) => [`page${at}.html`, `<!doctype html><p>page</p>${some.join('\n')}`] as const,
)

/** Files whose whole content is hostile: one in each form that the panel beside the chat draws, and more of the first two. */
const hostileFiles: readonly (readonly [name: string, content: string])[] = firstRows(
  7,
  [
    ...texts.slice(0, 1),
    ...pages.slice(0, 1),
    ['table.csv', ['a,b', ...formedAttacks.map((text) => `"${text.replaceAll('"', '""')}",1`)].join('\n')],
    [
      'diagram.mmd',
      `graph TD\n${attacks.map((text, at) => `  N${at}["${text.replaceAll(/["\n]/g, '')}"]`).join('\n')}`,
    ],
    ['code.js', formedAttacks.join('\n')],
    ['data.json', JSON.stringify(formedAttacks)],
    ['page.xml', attacks.join('\n')],
    ...texts.slice(1),
    ...pages.slice(1),
  ],
  3,
)
const hostilePictures = markup.map(
  (attack, at) =>
    [`picture${at}.svg`, `<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9">${attack}</svg>`] as const,
)

/** Elements that no file becomes outside of its frame. Its own tools are buttons and links to Files. */
const forbiddenInPanel = `
  script, object, embed, base, link, meta, style, form, video, audio, svg image, svg use, svg script, noscript, template,
  iframe:not([sandbox='']), img:not([src^='blob:']):not([src^='data:image/']),
  a:not([href^='http']):not([href^='mailto:']):not([href^='#/files/']), [background]
`

/** Chromium lists also what a policy, or the rule that pictures are used within their origin, stops before the network. */
const stopped = new Set(['csp', 'origin'])
const isForeign = (url: string): boolean =>
  !/^(?:blob|data):/.test(url) && !url.startsWith(origin) && !url.startsWith(origin.replace('http', 'ws'))

describe.skipIf(chromium === undefined)('the answers of a model', () => {
  let browser: Browser
  beforeAll(async () => {
    browser = await launchBrowser()
  })
  afterAll(async () => browser?.close())

  it.each(firstRows(0, ['stored', 'formed', 'streamed'], 1))(
    'cause no request, no element and no report: %s',
    async (way) => {
      const { client } = await newTenant(owner)
      const [asked, errors]: [string[], string[]] = [[], []]
      const script = `window.reports = []; addEventListener('securitypolicyviolation', (event) => reports.push(event.violatedDirective + ' ' + event.blockedURI))`
      const page = await signIn(browser, client, { requests: asked, errors, script })
      page.on('websocket', (socket) => asked.push(socket.url()))
      page.on('dialog', (dialog) => void (errors.push(dialog.message()), dialog.dismiss()))
      const open = async (id: string) => {
        await page.goto(`${origin}/#/chat/${id}`)
        await page.locator('.list').waitFor()
      }
      const listDrawn = (selector: string): Promise<readonly string[]> =>
        page
          .locator('.list .markdown')
          .locator(selector)
          .evaluateAll((found) => found.map((one) => String(one.outerHTML).slice(0, 200)))
      const expectOnlyText = async (shown: number) => {
        await page.locator('.block.text', { hasText: 'the last of it' }).waitFor()
        expect(await page.locator('.list .markdown').count()).toBeGreaterThanOrEqual(shown)
        expect(await listDrawn(forbidden)).toEqual([])
        expect(await listDrawn('p')).not.toEqual([])
        expect(await page.evaluate(handlers)).toEqual([])
      }
      if (way !== 'streamed') {
        const all = way === 'stored' ? attacks : formedAttacks
        for (let from = 0; from < all.length; from += attacksOfSession) {
          const some = all.slice(from, from + attacksOfSession)
          const messages = some.flatMap((attack) => [
            { role: 'user', content: attack },
            { role: 'assistant', content: attack, reasoning: attack },
          ])
          const imported = await client.post('/api/sessions/import', {
            format: 'talaria.session',
            version: 1,
            session: { title: some[0]?.slice(0, 90) },
            messages: [...messages, { role: 'assistant', content: 'the last of it' }],
          })
          await open(imported.json.id)
          await expectOnlyText(some.length)
        }
      } else {
        const id = await client.newSession()
        await open(id)
        const all = attacks.filter((attack) => !attack.includes('[[') && attack.length < 3_000).join('\n\n---\n\n')
        const run = client.chat(id, `[[echo]] ${all}\n\nthe last of it`)
        await page.locator('.block.text', { hasText: 'the last of it' }).waitFor()
        await run
        await page.getByRole('button', { name: 'Answer again' }).waitFor()
        await expectOnlyText(1)
      }
      expect(await page.evaluate('reports')).toEqual([])
      expect(asked.filter((one) => !one.startsWith(origin) && !one.startsWith(origin.replace('http', 'ws')))).toEqual(
        [],
      )
      // A name that may be a file of the workspace is looked up there, with the API of the page.
      expect(errors.filter((text) => !text.includes('404'))).toEqual([])
      await leave(page)
    },
    300_000,
  )

  it('and its files cause none either, as pictures, pages, tables, diagrams, texts and code', async () => {
    expect(formedAttacks.length).toBeGreaterThan(400)
    const { client } = await newTenant(owner)
    const id = await client.newSession()
    const put = ([name, raw]: readonly [string, string]) =>
      client.send('PUT', `/api/sessions/${id}/files/${name}`, { raw })
    const stored = await Promise.all([...hostileFiles, ...hostilePictures].map(put))
    expect(stored.filter(({ status }) => status >= 300)).toEqual([])
    const named = [
      ...hostilePictures.map(([name]) => `![${name}](${name})`),
      ...hostileFiles.map(([name]) => `[the ${name}](${name})`),
    ]
    const imported = await client.chat(id, `[[echo]] ${named.join('\n\n')}`)
    expect(imported.status).toBe(200)
    const [asked, dialogs]: [string[], string[]] = [[], []]
    const page = await signIn(browser, client, { requests: asked, at: `chat/${id}` })
    page.on('websocket', (socket) => asked.push(socket.url()))
    const ended = new Map<string, string>()
    page.on('requestfailed', (request) => ended.set(request.url(), request.failure()?.errorText ?? ''))
    page.on('response', (response) => ended.set(response.url(), `answered with ${response.status()}`))
    page.on('dialog', (dialog) => void (dialogs.push(dialog.message()), dialog.dismiss()))
    await expect.poll(() => page.locator('.block.text .file-name').count()).toBeGreaterThanOrEqual(hostileFiles.length)
    const found: Record<string, unknown> = {}
    for (const [name] of hostileFiles) {
      await page.locator('.block.text .file-name', { hasText: `the ${name}` }).click()
      const panel = page.getByRole('complementary', { name })
      await panel.getByText(/^[A-Z]+ · [\d.,]+ \w+$/).waitFor()
      await expect.poll(() => panel.locator('.skeleton').count()).toBe(0)
      expect(await panel.locator('p, td, code, iframe, img').count()).toBeGreaterThan(0)
      const drawn = await panel
        .locator(forbiddenInPanel)
        .evaluateAll((list) => list.map((one) => String(one.outerHTML).slice(0, 200)))
      const handled = await panel
        .locator('*')
        .evaluateAll((list) =>
          list
            .flatMap((one) => (one as { getAttributeNames(): string[] }).getAttributeNames())
            .filter((one) => one.startsWith('on')),
        )
      if (drawn.length || handled.length) found[name] = { drawn, handled }
    }
    expect(found).toEqual({})
    expect(dialogs).toEqual([])
    expect(page.context().pages()).toHaveLength(1)
    await expect
      .poll(() =>
        asked.filter((one) => isForeign(one) && !stopped.has(ended.get(one) ?? '')).map((one) => [one, ended.get(one)]),
      )
      .toEqual([])
    await leave(page)
  }, 120_000)
})
