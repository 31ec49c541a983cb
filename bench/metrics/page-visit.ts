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
  await page.locator('.composer textarea').waitFor()
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

type TraceEvent = { readonly name: string; readonly pid: number; readonly tid: number; readonly tdur?: number }

/** Milliseconds of the processor that the longest task of the page takes meanwhile. Other load of the machine does not count. */
export async function measureLongestTask(page: Page, act: () => Promise<unknown>): Promise<number> {
  const browser = page.context().browser()
  await browser?.startTracing(page, { categories: ['toplevel', 'devtools.timeline'] })
  await act()
  const trace = await browser?.stopTracing()
  const { traceEvents } = JSON.parse(String(trace)) as { readonly traceEvents: readonly TraceEvent[] }
  const threads = Map.groupBy(traceEvents, ({ pid, tid }) => `${pid} ${tid}`).values()
  const countCalls = (events: readonly TraceEvent[]) => events.filter(({ name }) => name === 'FunctionCall').length
  const [main = []] = [...threads].toSorted((one, other) => countCalls(other) - countCalls(one))
  const tasks = main.filter(({ name }) => name.endsWith('RunTask')).map(({ tdur = 0 }) => tdur / 1_000)
  if (!tasks.length) throw new Error('The trace has no task.')
  return Math.max(...tasks)
}
