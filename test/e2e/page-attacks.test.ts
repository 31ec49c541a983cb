/** Tests that nothing a model writes makes the page request, run or draw what it should not. Needs a Chromium. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { attacks, formedAttacks } from './support/attacks.ts'
import { firstRows } from '../support/long.ts'
import { type Browser, chromium, launchBrowser } from './support/chromium.ts'
import { newTenant } from './support/client.ts'
import { owner } from './support/here.ts'
import { origin, signIn } from './support/page.ts'

/** The page shows the last fifty messages of a session. */
const attacksOfSession = 20
/** Elements, attributes and addresses that the text of a model never becomes. */
const forbidden = `
  script, iframe, object, embed, base, link, meta, style, form, video, audio, picture,
  svg image, svg use, svg script, math a, math [href], template, noscript, input[type=image],
  img:not([src^="data:image/"]), a:not([href^="http"]):not([href^="mailto:"]), [style]:not(math, math *), [style*=url], [background],
  details:not(.fold, .sources)
`
const handlers = `[...document.querySelectorAll('.list *')].flatMap((one) => one.getAttributeNames()).filter((name) => name.startsWith('on'))`

describe.skipIf(chromium === undefined)('the answers of a model', () => {
  let browser: Browser
  beforeAll(async () => {
    browser = await launchBrowser()
  })
  afterAll(async () => browser?.close())

  it.each(['stored', 'formed', 'streamed'])(
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
        const all = way === 'stored' ? attacks : firstRows(80, formedAttacks)
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
      await page.context().close()
    },
    300_000,
  )
})
