/** Opens, lists, changes and closes the pages of one browser. */

import type { TabsAction } from '#agent/core/browser/browser.ts'
import type { OpenBrowser } from '#agent/core/browser/browser-state.ts'
import { BrowserProblem } from './element.ts'
import { openPage } from './use-page.ts'
import type { AcquiredBrowser, BrowserVendor } from './vendors.ts'

const maxPages = 5

type Target = { readonly targetId: string; readonly url: string; readonly title: string }

/** The changed state, and what the model sees. A page that was opened or chosen is looked at by the caller. */
export type ChangedTabs = { readonly state: OpenBrowser; readonly value: Readonly<Record<string, unknown>> }

const pagesOf = ({ pages, targetId }: OpenBrowser): readonly string[] => pages ?? [targetId]

/** Another page has a document of its own: references, dialogs and errors belong to the one before. */
const switchTo = (state: OpenBrowser, targetId: string, pages: readonly string[]): OpenBrowser => ({
  ...state,
  pages,
  targetId,
  frames: [],
  dialog: undefined,
  failed: undefined,
})

export async function changeTabs(
  action: TabsAction,
  state: OpenBrowser,
  browser: AcquiredBrowser,
  vendor: BrowserVendor,
): Promise<ChangedTabs> {
  const pages = pagesOf(state)
  switch (action.action) {
    case 'list':
      return { state, value: { pages: await listPages(state, browser, vendor) } }
    case 'open': {
      if (action.url === undefined) throw new BrowserProblem('Name the url of the page to open.')
      if (pages.length >= maxPages) throw new BrowserProblem(`There are ${maxPages} pages already. Close one first.`)
      const targetId = await openPage(vendor, browser)
      return { state: switchTo(state, targetId, [...pages, targetId]), value: { page: pages.length + 1 } }
    }
    case 'switch': {
      const targetId = requirePage(pages, action.page)
      return { state: switchTo(state, targetId, pages), value: { page: action.page } }
    }
    case 'close': {
      const closed = requirePage(pages, action.page)
      const rest = pages.filter((one) => one !== closed)
      const [first] = rest
      if (first === undefined) throw new BrowserProblem('This is the only page. Open another address in it instead.')
      const connection = await vendor.connect(browser)
      await connection.send('Target.closeTarget', { targetId: closed }).finally(() => connection.close())
      const next = closed === state.targetId ? switchTo(state, first, rest) : { ...state, pages: rest }
      return { state: next, value: { closed: action.page, page: rest.indexOf(next.targetId) + 1, pages: rest.length } }
    }
  }
}

function requirePage(pages: readonly string[], number: number | undefined): string {
  if (number === undefined) throw new BrowserProblem('Name the page by its number: list shows them.')
  const found = pages[number - 1]
  if (found === undefined) throw new BrowserProblem(`There is no page ${number}: there are ${pages.length}.`)
  return found
}

async function listPages(state: OpenBrowser, browser: AcquiredBrowser, vendor: BrowserVendor) {
  const connection = await vendor.connect(browser)
  const { targetInfos } = await connection
    .send<{ targetInfos: readonly Target[] }>('Target.getTargets')
    .finally(() => connection.close())
  return pagesOf(state).map((targetId, index) => {
    const found = targetInfos.find((one) => one.targetId === targetId)
    return {
      page: index + 1,
      url: found?.url.slice(0, 500) ?? 'gone',
      title: found?.title.slice(0, 200) ?? '',
      ...(targetId === state.targetId && { in_use: true }),
    }
  })
}
