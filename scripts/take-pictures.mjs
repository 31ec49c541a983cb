// `node scripts/take-pictures.mjs 'http://localhost:8787/#in=…'` takes the pictures of docs/page.md. The argument is the
// link that `npm start` prints: a server without keys of providers and with an empty database, so that demo/agent answers.
import { statSync } from 'node:fs'
import { join } from 'node:path'
import { chromium as playwright } from 'playwright-core'
import { findChromium } from './lib/chromium.mjs'
import { root } from './lib/root.mjs'

const maxKiB = 120
const [link, folder = join(root, 'docs')] = process.argv.slice(2)
if (!link?.includes('#in=')) {
  console.error(`usage: node scripts/take-pictures.mjs 'http://localhost:8787/#in=…' [FOLDER]`)
  process.exit(2)
}
const executablePath = findChromium()
if (!executablePath) throw new Error('needs a Chromium: apt-get install chromium')

const browser = await playwright.launch({ executablePath, args: ['--no-sandbox', '--disable-gpu'] })
const page = await browser.newPage({ locale: 'en-US', viewport: { width: 1080, height: 720 } })
const field = page.getByRole('textbox', { name: 'Message' })

async function send(text) {
  await field.fill(text)
  await field.press('Enter')
}
async function ask(text, answer) {
  await send(text)
  await page.locator('.block.text', { hasText: answer }).waitFor()
  await page.getByRole('button', { name: 'Answer again' }).waitFor()
}
async function open(hash, shown = '.screen') {
  await page.evaluate((to) => void (location.hash = to), hash)
  await page.locator(shown).waitFor()
  await page.waitForFunction(() => !document.querySelector('.skeleton'))
}
async function take(name) {
  const path = join(folder, `page-${name}.jpg`)
  await page.mouse.move(0, 0)
  await page.screenshot({ path, type: 'jpeg', quality: 80 })
  const kib = statSync(path).size / 1024
  console.log(`${path} ${kib.toFixed(0)} KiB`)
  if (kib > maxKiB) process.exitCode = 1
}

try {
  await page.goto(link)
  await field.waitFor()
  await ask('write notes.md: # Release 2.4', 'write_file')
  await ask('run: wc -w notes.md', 'exit_code')
  await send('run: rm -rf build')
  const approval = page.getByRole('alertdialog').getByRole('button', { name: 'Allow once' })
  await approval.and(page.locator(':enabled')).waitFor()
  await take('chat')
  const run = await page.locator('.block.text').last().getAttribute('data-run')
  const session = page.url().split('/').at(-1)
  await open('#/inbox')
  await page.locator('.screen').getByRole('button', { name: 'Allow once' }).and(page.locator(':enabled')).waitFor()
  await take('inbox')
  await page.locator('.screen').getByRole('button', { name: 'Allow once' }).click()
  await page.getByText('Nothing waits for you.').waitFor()
  await open(`#/files/${session}`)
  await page.locator('.tree a', { hasText: 'notes.md' }).click()
  await page.getByRole('button', { name: 'Source' }).waitFor()
  await page.getByRole('button', { name: 'Changes' }).click()
  await page.locator('details summary').last().click()
  await page.locator('.diff .added').first().waitFor()
  await take('files')
  await open(`#/run/${run}`)
  await page.locator('.screen li').first().waitFor()
  await take('run')
  await open('#/tools')
  await page.getByRole('switch').first().waitFor()
  await take('tools')
  await open('#/projects')
  await page.getByRole('textbox', { name: 'Name' }).fill('Release 2.4')
  await page.getByRole('button', { name: 'Add', exact: true }).click()
  const job = page.getByRole('form', { name: 'New job' })
  await job.getByLabel('Schedule').fill('0 9 * * 1-5')
  await job.getByLabel('Prompt').fill('Say what has changed in notes.md since yesterday.')
  await job.getByRole('button', { name: 'Add' }).click()
  await page.locator('a', { hasText: 'Say what has changed' }).waitFor()
  await page.getByRole('heading', { name: 'Jobs' }).evaluate((heading) => heading.scrollIntoView())
  await take('project')
  await page.setViewportSize({ width: 390, height: 720 })
  await open(`#/chat/${session}`, '.list')
  await page.locator('.block.text').last().waitFor()
  await take('phone')
} finally {
  await browser.close()
}
