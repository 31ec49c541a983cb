/** Tests in Chromium how the Markdown of an answer looks, in both languages, on a desk and on a phone. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { firstRows, itInTurn } from '../support/long.ts'
import { type Browser, chromium, launchBrowser, readBoxes } from './support/chromium.ts'
import { type Client, newTenant } from './support/client.ts'
import { owner } from './support/here.ts'
import { leave, origin, signIn } from './support/page.ts'

const answer = `Energy is \\(E = mc^2\\), not $5 or $6[^n]. See [Guide](https://a.example/x "Surface of the path") and [2](https://b.example/y).

- First item

  second paragraph
- Next

$$
\\int_0^1 x^2\\,dx
+ \\frac{1}{3}
$$

Press <kbd>Ctrl</kbd>, drink H<sub>2</sub>O.<br>Then rest.

<details><summary>More</summary>

Hidden *words*

</details>

\`\`\`js
const answer = 'a line that is longer than the screen of any phone that there is, so that it scrolls'
\`\`\`

\`\`\`diff
-old
+new
\`\`\`

\`\`\`mermaid
graph LR
  A[Start] --> B[End]
\`\`\`

شكراً جزيلاً

[^n]: Only *here*.
`
const words = {
  'en-US': {
    sources: '2 sources',
    wrap: 'Wrap lines',
    copy: 'Copy',
    download: 'Download',
    back: 'Back',
    source: 'Source',
  },
  'de-DE': {
    sources: '2 Quellen',
    wrap: 'Zeilen umbrechen',
    copy: 'Kopieren',
    download: 'Herunterladen',
    back: 'Zurück',
    source: 'Quelltext',
  },
}
type Locale = keyof typeof words

/** Runs in the page. */
const styleOf = (element: unknown, name: string): string =>
  (globalThis as unknown as { getComputedStyle: (one: unknown) => { getPropertyValue: (name: string) => string } })
    .getComputedStyle(element)
    .getPropertyValue(name)

describe.skipIf(chromium === undefined)('the Markdown of an answer', () => {
  let browser: Browser
  let client: Client
  let id = ''

  const open = async (locale: Locale, width: number) => {
    const [errors, requests]: [string[], string[]] = [[], []]
    const look = { locale, viewport: { width, height: 800 }, permissions: ['clipboard-read', 'clipboard-write'] }
    const page = await signIn(browser, client, { ...look, errors, requests, at: `chat/${id}` })
    await page.locator('.block.text .math math').waitFor()
    const listForeign = () => requests.filter((url) => !url.startsWith(origin) && !/^(?:data|blob):/.test(url))
    return { page, errors, listForeign, close: () => leave(page) }
  }

  beforeAll(async () => {
    browser = await launchBrowser()
    client = (await newTenant(owner)).client
    const messages = [
      { role: 'user', content: 'Show it' },
      { role: 'assistant', content: answer },
    ]
    const session = { title: 'Forms' }
    id = (await client.post('/api/sessions/import', { format: 'talaria.session', version: 1, session, messages })).json
      .id
  })
  afterAll(async () => browser?.close())

  const screens: readonly (readonly [Locale, number])[] = [
    ['de-DE', 360],
    ['en-US', 1280],
    ['de-DE', 1280],
    ['en-US', 360],
  ]
  it.each(firstRows(1, screens))('is drawn with all its forms, %s, %i px', async (locale, width) => {
    const { page, errors, listForeign, close } = await open(locale, width)
    const text = page.locator('.block.text')
    const say = words[locale]
    // Math
    expect(await text.locator('.math-inline math').count()).toBe(1)
    expect(await text.locator('.math math mfrac').count()).toBe(1)
    expect((await readBoxes(text.locator('.math math')))[0].height).toBeGreaterThan(30)
    expect(await text.locator('p').first().innerText()).toContain('not $5 or $6')
    // The paragraphs of a loose item stand below each other.
    const paragraphs = text.locator('ul.loose li').first().locator('p')
    const [first, second] = await readBoxes(paragraphs.first(), paragraphs.nth(1))
    expect(second.y - first.y).toBeGreaterThan(20)
    expect(second.x).toBe(first.x)
    // Elements
    expect(await text.locator('kbd').innerText()).toBe('Ctrl')
    expect(await text.locator('sub').evaluate(styleOf, 'vertical-align')).toBe('sub')
    // A fold opens.
    expect(await text.getByText('Hidden words').isVisible()).toBe(false)
    await text.getByText('More', { exact: true }).click()
    await text.getByText('Hidden words').waitFor()
    // Footnotes lead to and fro.
    await text.locator('.note-ref button').click()
    expect(await page.evaluate("document.activeElement.textContent.includes('Only here.')")).toBe(true)
    await text.locator('.footnote').getByRole('button', { name: say.back }).click()
    expect(await page.evaluate("document.activeElement.closest('.note-ref') !== null")).toBe(true)
    // Sources
    expect(await text.locator('a.src').allInnerTexts()).toEqual(['Guide', 'b.example'])
    await text.getByText(say.sources).click()
    await text.locator('.sources').getByText('Surface of the path').waitFor()
    // Direction
    expect(await text.locator('p', { hasText: 'شكراً' }).evaluate(styleOf, 'direction')).toBe('rtl')
    // A diagram is a picture, with its source one click away.
    const diagram = text.locator('.diagram img')
    await diagram.waitFor()
    expect(await diagram.evaluate((one) => (one as unknown as { naturalWidth: number }).naturalWidth)).toBeGreaterThan(
      50,
    )
    await text.getByRole('button', { name: say.source }).click()
    await text.getByText('A[Start] --> B[End]').waitFor()
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(width)
    expect([errors, listForeign()]).toEqual([[], []])
    await close()
  })

  itInTurn('gives code its language, copies, wraps and saves it, and colours a diff', async () => {
    const { page, close } = await open('en-US', 360)
    const block = page.locator('.code').first()
    expect(await block.locator('.code-bar span').innerText()).toBe('js')
    await block.locator('.code-keyword').waitFor()
    const pre = block.locator('pre')
    const isWide = () =>
      pre.evaluate((one) => {
        const { scrollWidth, clientWidth } = one as unknown as { scrollWidth: number; clientWidth: number }
        return scrollWidth > clientWidth
      })
    expect(await isWide()).toBe(true)
    await block.getByRole('button', { name: 'Wrap lines' }).click()
    expect(await isWide()).toBe(false)
    await block.getByRole('button', { name: 'Copy' }).click()
    await block.getByRole('button', { name: 'Copied.' }).waitFor()
    expect(await page.evaluate('navigator.clipboard.readText()')).toMatch(/^const answer = 'a line/)
    const saved = page.waitForEvent('download')
    await block.getByRole('button', { name: 'Download' }).click()
    expect((await saved).suggestedFilename()).toBe('code.js')
    const colourOf = (line: string) => page.locator(`.code .${line}`).evaluate(styleOf, 'background-color')
    expect(await colourOf('added')).not.toBe(await colourOf('removed'))
    await close()
  })

  itInTurn('loads the libraries of math and diagrams only for an answer that has them', async () => {
    const plain = await client.newSession()
    await client.chat(plain, '[[say Only **words**]]')
    const asked: string[] = []
    const page = await signIn(browser, client, { requests: asked, at: `chat/${plain}` })
    await page.locator('.block.text strong').waitFor()
    expect(asked.filter((url) => /draw-(?:math|diagram)/.test(url))).toEqual([])
    await page.goto(`${origin}/#/chat/${id}`)
    await page.locator('.diagram img').waitFor()
    expect(asked.filter((url) => /draw-(?:math|diagram)/.test(url)).length).toBe(2)
    await leave(page)
  })
})
