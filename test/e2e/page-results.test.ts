/** Tests in Chromium how the files of a session are shown in its messages. */

import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { itInTurn } from '#test/support/long.ts'
import { type Browser, chromium, launchBrowser, readBoxes } from './support/chromium.ts'
import { type Client, newTenant } from './support/client.ts'
import { owner } from './support/here.ts'
import { leave, origin, signIn } from './support/page.ts'

const png = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAgAAAAICAIAAABLbSncAAAAFUlEQVR4nGNkYPjPgA0wYRUdtBIAO/8BDw7kU9wAAAAASUVORK5CYII=',
  'base64',
)

/** One second of silence. */
function wav(): Buffer {
  const data = Buffer.alloc(8_000, 128)
  const head = Buffer.alloc(44)
  head.write('RIFF', 0)
  head.writeUInt32LE(36 + data.length, 4)
  head.write('WAVEfmt ', 8)
  head.writeUInt32LE(16, 16)
  head.writeUInt16LE(1, 20)
  head.writeUInt16LE(1, 22)
  head.writeUInt32LE(8_000, 24)
  head.writeUInt32LE(8_000, 28)
  head.writeUInt16LE(1, 32)
  head.writeUInt16LE(8, 34)
  head.write('data', 36)
  head.writeUInt32LE(data.length, 40)
  return Buffer.concat([head, data])
}

describe.skipIf(chromium === undefined)('files in the chat', () => {
  let browser: Browser
  let client: Client
  let page: Page
  const errors: string[] = []
  const requests: string[] = []

  const put = (id: string, path: string, bytes: string | Buffer) =>
    client.send('PUT', `/api/sessions/${id}/files/${path}`, { raw: bytes as BodyInit })
  const open = async (id: string) => {
    await page.goto(`${origin}/#/chat/${id}`)
    await page.locator('.list').waitFor()
  }
  const naturalWidth = (selector: string) =>
    page.locator(selector).evaluate((image) => (image as unknown as { naturalWidth: number }).naturalWidth)

  beforeAll(async () => {
    browser = await launchBrowser()
    client = (await newTenant(owner)).client
    page = await signIn(browser, client, { errors, requests })
  })
  afterAll(async () => {
    await leave(page)
    await browser?.close()
  })

  it('shows pictures, sound and other files that an answer names in each way, and requests nothing elsewhere', async () => {
    const id = await client.newSession()
    await put(id, 'plots/a.png', png)
    await put(id, 'b.png', png)
    await put(id, 'said.wav', wav())
    await put(id, 'report.csv', 'city,people\nAachen,250000\n')
    const answer =
      'Here ![A plot](plots/a.png) and sandbox:/workspace/b.png\\n\\nMEDIA:said.wav\\n\\nSee [the table](/workspace/report.csv), not [this](gone.txt) or ![x](https://evil.example/x.png).'
    await client.chat(id, `[[say ${answer.replaceAll('\\n', '\n')}]]`)
    await open(id)
    const answered = page.locator('.block.text')
    await answered.getByRole('img', { name: 'A plot' }).waitFor()
    expect(await naturalWidth('.block.text img[alt="A plot"]')).toBe(8)
    await answered.getByRole('img', { name: 'b.png' }).waitFor()
    expect(await naturalWidth('.block.text img[alt="b.png"]')).toBe(8)
    const sound = answered.locator('audio')
    await sound.waitFor()
    await expect
      .poll(() => sound.evaluate((element) => (element as unknown as { duration: number }).duration))
      .toBeCloseTo(1, 1)
    await answered.getByText('CSV · 26 B').waitFor()
    expect(await answered.getByText('this', { exact: true }).count()).toBe(1)
    await answered.getByRole('button', { name: /^the table/ }).click()
    const panel = page.getByRole('complementary', { name: 'report.csv' })
    await panel.getByRole('cell', { name: 'Aachen' }).waitFor()
    await panel.getByRole('link', { name: 'Open in Files' }).click()
    await page.getByRole('region', { name: 'report.csv' }).getByRole('cell', { name: '250000' }).last().waitFor()
    await open(id)
    const saved = page.waitForEvent('download')
    await answered.getByRole('button', { name: 'Download: report.csv' }).click()
    expect((await saved).suggestedFilename()).toBe('report.csv')
    await answered.getByRole('button', { name: 'Enlarge: A plot' }).click()
    await page.getByRole('dialog').getByRole('img', { name: 'A plot' }).waitFor()
    await page.keyboard.press('Escape')
    await expect.poll(() => page.getByRole('dialog').count()).toBe(0)
    expect(requests.filter((url) => !url.startsWith(origin) && !url.startsWith('blob:'))).toEqual([])
    expect(errors.filter((text) => !/404/.test(text))).toEqual([])
  })

  it('shows the end of a long session when its cards have come, and keeps in place what is unfolded', async () => {
    const id = await client.newSession()
    for (const name of ['one', 'two', 'three']) await put(id, `${name}.txt`, name)
    await client.chat(id, '[[text 900]]')
    await client.chat(
      id,
      `[[call terminal {"command":"seq 300"} then say ${'[one](one.txt) [two](two.txt)\n\n'.repeat(9)}]]`,
    )
    // The cards come after the text.
    const waits = Promise.withResolvers<void>()
    await page.route('**/files/**', async (route) => {
      await waits.promise
      await route.continue()
    })
    await open(id)
    await page.locator('.end-of-run .actions').waitFor()
    waits.resolve()
    await expect.poll(() => page.locator('.block.text .file-name').count()).toBe(18)
    const gap = `(() => { const list = document.querySelector('.list'); return list.scrollHeight - list.scrollTop - list.clientHeight })()`
    await expect.poll(() => page.evaluate(gap)).toBeLessThan(2)
    expect(await page.getByRole('button', { name: 'To the newest message' }).count()).toBe(0)
    await client.chat(id, '[[call terminal {"command":"seq 400"} then say Done.]]')
    await page.locator('.block.text', { hasText: 'Done.' }).waitFor()
    await page.getByRole('button', { name: 'Answer again' }).waitFor()
    const last = page.locator('.block.calls summary').last()
    // The list follows its end while the rows below the answer come.
    let y: number | undefined
    const isAtRest = async () => {
      const before = y
      ;[{ y }] = await readBoxes(last)
      return y === before && (await page.evaluate<number>(gap)) < 2
    }
    await expect.poll(isAtRest, { interval: 500 }).toBe(true)
    await last.click()
    await page.locator('.term').last().waitFor()
    const [after] = await readBoxes(last)
    expect(Math.abs(after.y - (y ?? 0))).toBeLessThan(2)
    await page.getByRole('button', { name: 'To the newest message' }).click()
    await expect.poll(() => page.evaluate(gap)).toBeLessThan(2)
    await page.unroute('**/files/**')
  })

  itInTurn('keeps the single line breaks of an answer', async () => {
    const id = await client.newSession()
    await client.chat(id, '[[say one\ntwo\nthree]]')
    await open(id)
    const answer = page.locator('.block.text p')
    await answer.waitFor()
    expect(await answer.innerText()).toBe('one\ntwo\nthree')
  })

  itInTurn('lists the files that a turn has changed below its answer, live and after a reload', async () => {
    const id = await client.newSession()
    await open(id)
    const field = page.getByRole('textbox', { name: 'Message' })
    await field.fill(
      '[[call write_file {"path":"one.txt","content":"1"} + write_file {"path":"two.txt","content":"22"} then say Both are there.]]',
    )
    await field.press('Enter')
    await page.locator('.block.results').getByText('2 files').waitFor()
    await page.reload()
    await page.locator('.block.results').getByText('2 files').click()
    await page.locator('.block.results').getByText('TXT · 2 B').waitFor()
    const [answer, results] = await readBoxes(page.locator('.block.text').last(), page.locator('.block.results'))
    expect(results.y).toBeGreaterThan(answer.y)
    // A turn without a changed file has no list.
    await field.fill('[[say Nothing]]')
    await field.press('Enter')
    await page.locator('.block.text', { hasText: 'Nothing' }).waitFor()
    expect(await page.locator('.block.results').count()).toBe(1)
  })

  itInTurn(
    'shows what a person has attached as a card, also after a reload, and titles the session by their words',
    async () => {
      const id = await client.newSession()
      await open(id)
      await page
        .locator('.composer input[type=file]')
        .setInputFiles({ name: 'trees.csv', mimeType: 'text/csv', buffer: Buffer.from('tree\n[oak]\n') })
      await page.locator('.composer').getByText('trees.csv').waitFor()
      const field = page.getByRole('textbox', { name: 'Message' })
      await field.fill('Count these, please')
      await field.press('Enter')
      for (const isLater of [false, true]) {
        if (isLater) await page.reload()
        const message = page.locator('.block.user')
        await message.getByText('CSV · 11 B').waitFor()
        expect(await message.locator('.bubble').innerText()).toBe('Count these, please')
        expect(await message.count()).toBe(1)
        expect(await page.locator('body').innerText()).not.toMatch(/Attached file|contains:|End of uploads/)
      }
      expect((await client.get(`/api/sessions/${id}`)).json.title).toBe('Count these, please')
    },
  )
})
