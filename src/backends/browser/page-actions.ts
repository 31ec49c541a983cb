/** Does what needs more than a look at the page: files for it, a PDF of it, its requests, and the hands of a person. */

import type { FileForPage, PersonInput } from '#agent/core/browser/browser.ts'
import type { FilledField, OpenBrowser } from '#agent/core/browser/browser-state.ts'
import { CdpError } from './cdp.ts'
import { BrowserProblem, callOn, type Element, press } from './element.ts'
import { hideField } from './fill-field.ts'
import type { BrowserPage } from './page.ts'

const chooseFiles = `function (files) {
  if (this.tagName !== 'INPUT' || this.type !== 'file') return 'The element is no field for files. Choose one from the snapshot.'
  if (this.disabled) return 'The field is disabled. Something else has to happen first.'
  if (files.length > 1 && !this.multiple) return 'The field takes one file.'
  const chosen = new DataTransfer()
  for (const { name, mediaType, data } of files)
    chosen.items.add(new File([Uint8Array.from(atob(data), (byte) => byte.charCodeAt(0))], name, { type: mediaType }))
  this.files = chosen.files
  this.dispatchEvent(new Event('input', { bubbles: true, composed: true }))
  this.dispatchEvent(new Event('change', { bubbles: true }))
  return ''
}`

/** The bytes travel to the page: the browser may run on another machine, which has no files of ours. */
export async function uploadFiles(element: Element, files: readonly FileForPage[]): Promise<void> {
  const problem = await callOn<string>(element, chooseFiles, files)
  if (problem) throw new BrowserProblem(problem)
}

/** Returns the PDF in base64. */
export async function printPage(page: BrowserPage): Promise<string> {
  try {
    const { data } = await page.send<{ data: string }>(
      'Page.printToPDF',
      { printBackground: true },
      { timeoutMs: 60_000 },
    )
    return data
  } catch (error) {
    if (error instanceof CdpError && error.failure === 'refused')
      throw new BrowserProblem('This browser cannot print: it is not headless. Use browser_vision for a picture.')
    throw error
  }
}

const maxRequests = 100

/** The page keeps the last 250 by itself, also those between two calls. */
const listTimings = `[...performance.getEntriesByType('navigation'), ...performance.getEntriesByType('resource')].slice(-${maxRequests}).map(
  ({ name, initiatorType, responseStatus, duration, transferSize }) => ({
    url: name.slice(0, 2000), type: initiatorType, status: responseStatus || undefined, ms: Math.round(duration), bytes: transferSize,
  }),
)`

export type SeenRequest = { readonly url: string; readonly type: string }

export const listRequests = (page: BrowserPage): Promise<readonly SeenRequest[]> =>
  page.evaluate<readonly SeenRequest[]>(listTimings)

// Values that the model must not see.

/** The fields of a frame whose values a person or the vault has filled in, while the same document is shown. */
export const maskedNodes = (
  { filled = [] }: Pick<OpenBrowser, 'filled'>,
  frame: { readonly id: string; readonly loaderId: string },
): ReadonlySet<number> =>
  new Set(filled.filter((one) => one.id === frame.id && one.loaderId === frame.loaderId).map(({ node }) => node))

/** Choices of a list are nobody's secret, and the chosen one is hidden with its field. */
const visibleTexts = `[
  [...new Set([...document.querySelectorAll('option')].map(({ text }) => text).filter(Boolean))]
    .reduce((text, choice) => text.replaceAll(choice, ''), (document.body?.innerText ?? '').slice(0, 1000000)),
  document.title,
  ...[...document.querySelectorAll('input, textarea, select')].map((field) =>
    field.type === 'password' || getComputedStyle(field).webkitTextSecurity !== 'none' ? '' : field.value),
].join('\\n')`

/** Rejects while the page shows a protected value: a picture of it could not be masked. */
export async function requirePresentable(
  page: BrowserPage,
  state: OpenBrowser,
  hasSecret: (text: string) => boolean,
): Promise<void> {
  const frames = await page.frames()
  for (const frame of frames)
    for (const node of maskedNodes(state, frame)) {
      const element = await resolve(page, frame.id, node)
      if (element) await hideField(element)
    }
  const texts = await Promise.all(frames.map(({ id }) => page.evaluate<string>(visibleTexts, id).catch(() => '')))
  if (texts.some(hasSecret))
    throw new BrowserProblem(
      'The page shows a protected value, so no picture is taken. Use browser_snapshot, which masks it.',
    )
}

async function resolve(page: BrowserPage, frameId: string, backendNodeId: number): Promise<Element | undefined> {
  try {
    const executionContextId = await page.world(frameId)
    const { object } = await page.send<{ object: { objectId: string } }>(
      'DOM.resolveNode',
      { backendNodeId, executionContextId },
      { frameId },
    )
    return { page, frameId, objectId: object.objectId, backendNodeId }
  } catch (error) {
    if (error instanceof CdpError && error.failure === 'refused') return undefined
    throw error
  }
}

// The hands of a person.

const focusedField = `(() => {
  let field = document.activeElement
  while (field?.shadowRoot?.activeElement) field = field.shadowRoot.activeElement
  return field && (/^(?:INPUT|TEXTAREA|SELECT)$/.test(field.tagName) || field.isContentEditable) ? field : null
})()`

/** The fields that have the focus of their documents: what a person types goes into one of them. */
async function findFocused(page: BrowserPage): Promise<readonly FilledField[]> {
  const frames = await page.frames()
  const found = await Promise.all(
    frames.map(async ({ id, loaderId }) => {
      const contextId = await page.world(id)
      const options = { frameId: id }
      const { result } = await page.send<{ result: { objectId?: string } }>(
        'Runtime.evaluate',
        { expression: focusedField, contextId },
        options,
      )
      if (result.objectId === undefined) return []
      const { node } = await page.send<{ node: { backendNodeId: number } }>(
        'DOM.describeNode',
        { objectId: result.objectId },
        options,
      )
      return [{ id, loaderId, node: node.backendNodeId }]
    }),
  )
  return found.flat()
}

/** Returns the fields that the person has typed into. */
export async function actForPerson(page: BrowserPage, input: PersonInput): Promise<readonly FilledField[]> {
  switch (input.type) {
    case 'click': {
      const place = { x: input.x, y: input.y, button: 'left', clickCount: 1 }
      await page.send('Input.dispatchMouseEvent', { ...place, type: 'mousePressed', buttons: 1 })
      await page.send('Input.dispatchMouseEvent', { ...place, type: 'mouseReleased' })
      return []
    }
    case 'scroll':
      await page.send('Input.dispatchMouseEvent', {
        type: 'mouseWheel',
        x: input.x,
        y: input.y,
        deltaX: 0,
        deltaY: input.by,
      })
      return []
    case 'key': {
      const focused = await findFocused(page)
      await press(page, input.key)
      return focused
    }
    case 'text': {
      const focused = await findFocused(page)
      await page.send('Input.insertText', { text: input.text })
      return focused
    }
  }
}

type View = { readonly width: number; readonly height: number }

/** The picture for a person: nothing is masked. */
export async function showScreen(page: BrowserPage): Promise<{ readonly view: View; readonly image: string }> {
  const [{ cssVisualViewport }, { data }] = await Promise.all([
    page.send<{ cssVisualViewport: { clientWidth: number; clientHeight: number } }>('Page.getLayoutMetrics'),
    page.send<{ data: string }>('Page.captureScreenshot', { format: 'jpeg', quality: 60, optimizeForSpeed: true }),
  ])
  return { view: { width: cssVisualViewport.clientWidth, height: cssVisualViewport.clientHeight }, image: data }
}
