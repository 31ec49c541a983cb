/**
 * Tests every screen of the page in Chromium: that it has no English in German, fits its width in both directions, has
 * targets that a finger hits, nothing that axe finds, and controls that Tab reaches. Other looks are long.
 */

import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type ScreenName, screenNames } from '../../web/model/screen-names.ts'
import { de } from '../../web/words/de.ts'
import { en } from '../../web/words/en.ts'
import { english as common } from '../support/english.ts'
import { firstRows, isLong, itInTurn } from '../support/long.ts'
import { type Browser, chromium, launchBrowser } from './support/chromium.ts'
import { type Client, eventually, newTenant } from './support/client.ts'
import { owner } from './support/here.ts'
import { findViolations, fits, leave, type Locale, signIn, type Theme } from './support/page.ts'
import { root } from './support/server.ts'

const rates = readFileSync(join(root, 'examples/plugins/rates.js'), 'utf8')
type Look = { readonly locale: Locale; readonly theme: Theme; readonly width: number; readonly height: number }

/** 640 by 370 are 1280 by 740 at 200 %. */
const looks: readonly Look[] = [
  { locale: 'de-DE', theme: 'dark', width: 320, height: 740 },
  { locale: 'en-US', theme: 'light', width: 640, height: 370 },
  { locale: 'de-DE', theme: 'contrast', width: 1280, height: 740 },
  { locale: 'en-US', theme: 'contrast', width: 360, height: 740 },
  { locale: 'de-DE', theme: 'light', width: 390, height: 740 },
  { locale: 'en-US', theme: 'dark', width: 1280, height: 740 },
]

const tableOfWords = /wordsOf\(\n {2}\{\n([^]*?)\n {2}\},\n {2}\{\n([^]*?)\n {2}\},\n\)/g
const listValues = (table: string): readonly string[] =>
  [...table.matchAll(/: +(?:'([^'\n]*)'|"([^"\n]*)"),$|^ {6}(?:'([^'\n]*)'|"([^"\n]*)"),$/gm)].map((found) =>
    found.slice(1).join(''),
  )
/** Words that come with one screen stand in its file. */
const tables = readdirSync(join(root, 'web'), { recursive: true, encoding: 'utf8' })
  .filter((name) => /\.tsx?$/.test(name))
  .flatMap((name) => [...readFileSync(join(root, 'web', name), 'utf8').matchAll(tableOfWords)])
  .map(([, inEnglish = '', inGerman = '']) => [listValues(inEnglish), listValues(inGerman)] as const)
const german = new Set([...Object.values(de), ...tables.flatMap(([, values]) => values)])
/** Texts of the English page that the German one has in no place. */
const english = new Set(
  [...Object.values(en), ...tables.flatMap(([values]) => values)].filter((text) => !german.has(text)),
)
/** Names of the API that stand for something in the page, and are no words of it. */
const raw = /^(?:acp|api|agent|batch|bundled|cli|cron|imported|job|subagent|user|web|webhook)$/

/** Runs in the page: what people read and what screen readers say, without code and what others have written. */
const listTexts = `(() => {
  const found = []
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT)
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const { parentElement: parent } = node
    if (!parent.closest('code, pre, script, style, [dir=auto], [lang=en], .log, .sessions') && parent.checkVisibility()) found.push(node.data.trim())
  }
  for (const one of document.querySelectorAll('[aria-label], [title], [placeholder]'))
    if (!one.closest('.sessions, li:has([data-session]), [dir=auto]')) for (const name of ['aria-label', 'title', 'placeholder']) found.push(one.getAttribute(name) ?? '')
  return [...new Set(found)].filter(Boolean)
})()`

/** Controls of the screen that are lower than a finger is wide. */
const listSmall = `[...document.querySelectorAll('main :is(button, .button, select, input:not(.unseen, [type=checkbox], [type=radio]))')]
  .filter((one) => one.checkVisibility() && one.getBoundingClientRect().height < 43.5)
  .map((one) => one.outerHTML.slice(0, 120))`

/**
 * Fields that reach beyond their form, controls that reach beyond the screen, and badges that do not show their word: the
 * screen hides them behind its edge, and has no width to scroll.
 */
const listOutside = `[
  ...[...document.querySelectorAll('main form :is(input, select, textarea)')]
    .filter((one) => one.getBoundingClientRect().right > one.form.getBoundingClientRect().right + 1),
  ...[...document.querySelectorAll('main :is(a, button, input, select, textarea, summary)')]
    .filter((one) => !one.closest('.table, pre, .unseen') && one.getBoundingClientRect().right > innerWidth + 1),
  ...[...document.querySelectorAll('.subagent .badge')].filter((one) => one.scrollWidth > one.clientWidth + 1),
]
  .filter((one) => one.checkVisibility())
  .map((one) => one.outerHTML.slice(0, 120))`

const wide = `${'x'.repeat(300)}\n\n\`\`\`\n${'y'.repeat(300)}\n\`\`\`\n\n|${'a|'.repeat(40)}\n|${'-|'.repeat(40)}\n|${'b|'.repeat(40)}`

/** Fills a tenant with one of everything, and returns the address of each screen. */
async function fill(client: Client): Promise<ReadonlyMap<ScreenName, string>> {
  const id = await client.newSession({ title: 'w'.repeat(90) })
  await client.chat(id, '[[call delegate_task {"goal":"[[say looked it up]]"} then say Delegated.]]')
  await client.send('PUT', `/api/sessions/${id}/files/${'long'.repeat(20)}.txt`, { raw: wide })
  await client.chat(id, `${wide}\n\n[[call write_file {"path":"one.md","content":"# 1"} then say ${'z'.repeat(300)}]]`)
  const [message] = await client.messages(id)
  await client.post(`/api/sessions/${id}/checkpoints`, { name: 'vor dem Umbau' })
  await client.post('/api/skills', {
    name: 'tee',
    content: '---\nname: tee\ndescription: Kocht Tee.\n---\n\nKochen.\n',
  })
  await client.post('/api/plugins', { name: 'rates', code: rates, grants: { kv: true } })
  await client.post('/api/secrets', { name: 'DEPLOY_TOKEN', value: 'a-secret-value-9f3a' })
  await client.post('/api/jobs', { name: 'Bericht', schedule: 'every 2h', prompt: 'Was gibt es Neues?' })
  await client.newSession({ title: 'eval: fragt zuerst', tags: ['eval', 'eval-failed'] })
  await client.post('/api/mcp/servers', { alias: 'fern', url: 'https://gone.example.com/mcp' })
  const { json: batch } = await client.post('/api/batches', { name: 'Briefe', prompts: [{ prompt: '[[say Ja]]' }] })
  await eventually(
    async () => (await client.get(`/api/batches/${batch.id}`)).json.status,
    (status) => status === 'completed',
    60_000,
  )
  return new Map<ScreenName, string>([
    ['chat', `chat/${id}`],
    ['run', `run/${message?.run_id}`],
    ['files', `files/${id}`],
    ['tree', `tree/${id}`],
    ['browser', `browser/${id}`],
    ['batches', `batches/${batch.id}`],
    ['plugins', 'plugins/rates'],
    ['skills', 'skills/tee'],
  ])
}

it('knows the words that come with their screens', () => {
  expect(tables.length).toBeGreaterThan(20)
  expect(tables.filter(([inEnglish, inGerman]) => inEnglish.length !== inGerman.length)).toEqual([])
  expect(english).toContain('No MCP servers. Add one to use its tools.')
})

describe.skipIf(chromium === undefined)('every screen of the page', () => {
  let browser: Browser
  let client: Client
  let addresses: ReadonlyMap<ScreenName, string>

  beforeAll(async () => {
    browser = await launchBrowser()
    client = (await newTenant(owner)).client
    addresses = await fill(client)
  })
  afterAll(async () => browser?.close())

  const open = async (page: Page, address: string) => {
    await page.evaluate(`location.hash = ${JSON.stringify(`#/${address}`)}`)
    await page
      .locator(address.startsWith('chat') ? '.list .block, .welcome' : '.screen')
      .first()
      .waitFor()
    await eventually(
      () => page.locator('.skeleton').count(),
      (count) => count === 0,
    )
    await page.evaluate(`for (const one of document.querySelectorAll('main details')) one.open = true`)
    await eventually(
      () => page.locator('.skeleton').count(),
      (count) => count === 0,
    )
  }
  /** Lists also screens behind the ones of the list, such as one skill. */
  const listAddresses = (isOwner: boolean): readonly string[] =>
    isOwner
      ? ['owner']
      : [
          ...screenNames.filter((name) => name !== 'owner').map((name) => addresses.get(name) ?? name),
          'chat',
          'batches',
          'plugins',
          'skills',
        ]

  /** `isFirst`: what surrounds the screens is the same on the others. `isAudited`: axe takes longer than all else. */
  const look = async (
    page: Page,
    { locale, theme, width }: Look,
    { isFirst, isAudited }: { readonly isFirst: boolean; readonly isAudited: boolean },
  ): Promise<object | undefined> => {
    const texts = locale === 'de-DE' ? ((await page.evaluate(listTexts)) as readonly string[]) : []
    const foreign = texts.filter((text) => english.has(text) || common.test(text) || raw.test(text))
    const small = width < 500 ? ((await page.evaluate(listSmall)) as readonly string[]) : []
    const violations = isAudited ? await findViolations(page, { theme, ...(!isFirst && { within: 'main' }) }) : []
    const outside = (await page.evaluate(listOutside)) as readonly string[]
    const isWide = !(await fits(page))
    await page.evaluate(`document.documentElement.dir = 'rtl'`)
    const isWideFromRight = !(await fits(page))
    await page.evaluate(`document.documentElement.dir = 'ltr'`)
    const isFine = [foreign, small, violations, outside].every((list) => !list.length) && !isWide && !isWideFromRight
    return isFine ? undefined : { foreign, small, violations, outside, isWide, isWideFromRight }
  }

  it.each(firstRows(1, looks))(
    'is German in German, fits, and has no violation that axe finds: $locale, $theme, $width px',
    { timeout: 300_000 },
    async (given) => {
      const { locale, width, height } = given
      const found: Record<string, unknown> = {}
      const errors: string[] = []
      const phone = width < 500 ? { hasTouch: true, isMobile: true } : {}
      for (const isOwner of [false, true]) {
        const page = await signIn(browser, isOwner ? owner : client, {
          locale,
          viewport: { width, height },
          errors,
          ...phone,
        })
        const listed = listAddresses(isOwner)
        const audited = firstRows(2, listed, 3)
        for (const [nth, address] of listed.entries()) {
          await open(page, address)
          const defects = await look(page, given, { isFirst: nth === 0, isAudited: audited.includes(address) })
          if (defects) found[address] = defects
        }
        await leave(page)
      }
      expect(found).toEqual({})
      // The server is gone on purpose.
      expect(errors.filter((text) => !/gone\.example|404/.test(text))).toEqual([])
    },
  )

  itInTurn('is reached and used by Tab alone, with a mark where the focus is', { timeout: 300_000 }, async () => {
    const page = await signIn(browser, client)
    const found: Record<string, readonly string[]> = {}
    const all = listAddresses(false)
    const hard = firstRows(0, ['batches', addresses.get('tree') ?? '', 'secrets'], 1)
    for (const address of isLong ? all : hard) {
      await open(page, address)
      const missed = await listMissed(page)
      if (missed.length) found[address] = missed
    }
    expect(found).toEqual({})
    await leave(page)
  })
})

/** Presses Tab through the screen, and lists the controls that were not reached or show no focus. */
async function listMissed(page: Page): Promise<readonly string[]> {
  const count = (await page.evaluate(`(() => {
    const list = [...document.querySelectorAll('main :is(a[href], button, input, select, textarea, summary, [tabindex="0"])')]
    globalThis.missed = new Set(list.filter((one) => !one.disabled && one.checkVisibility({ visibilityProperty: true }) && one.tabIndex >= 0 && !one.closest('[inert]')))
    document.activeElement?.blur()
    document.getElementById('main').focus()
    globalThis.unmarked = []
    globalThis.onfocus = null
    document.addEventListener('focusin', ({ target }) => {
      missed.delete(target)
      const { outlineStyle, outlineWidth, boxShadow } = getComputedStyle(target)
      if ((outlineStyle === 'none' || outlineWidth === '0px') && boxShadow === 'none' && target.closest('main') && target.id !== 'main') unmarked.push(target.outerHTML.slice(0, 120))
    })
    return missed.size
  })()`)) as number
  for (let press = 0; press < count * 2 + 5; press++) await page.keyboard.press('Tab')
  return page.evaluate(
    `[...[...missed].map((one) => 'not reached: ' + one.outerHTML.slice(0, 120)), ...unmarked.map((one) => 'no mark: ' + one)]`,
  )
}
