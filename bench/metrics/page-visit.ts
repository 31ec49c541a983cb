/** Opens the page in Chromium for the measurements of P19. */

import type { BrowserContext, CDPSession, Page } from 'playwright-core'
import { call, json, type Target } from '../client.ts'

export const slowCpu = 4

export const throttle = async (cdp: CDPSession, rate: number): Promise<unknown> =>
  cdp.send('Emulation.setCPUThrottlingRate', { rate })

export const signIn = async (target: Target, context: BrowserContext): Promise<void> => {
  const { url } = await json<{ url: string }>(target, 'POST', '/api/login/links')
  const { hash } = new URL(url)
  const page = await context.newPage()
  await page.goto(`${target.origin}/${hash}`)
  await page.getByRole('textbox', { name: 'Message' }).waitFor()
  await page.close()
}

export const createSession = async (target: Target, settings: object = {}): Promise<string> =>
  (await json<{ id: string }>(target, 'POST', '/api/sessions', { settings })).id

export const openSession = async ({ origin }: Target, page: Page, id: string): Promise<void> => {
  await page.goto(`${origin}/#/chat/${id}`)
  await page.locator('.list').waitFor()
}

/** Sends a message whose answer the page shows while it streams. */
export const beginAnswer = async (target: Target, page: Page, { id, input }: { id: string; input: string }) => {
  const sent = call(target, 'POST', `/api/sessions/${id}/chat`, { input, wait: false })
  await page.locator('.block.text').first().waitFor()
  await sent
}
