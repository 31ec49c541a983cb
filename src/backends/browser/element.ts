/** Finds elements by the references of the last snapshot, clicks them and types into them. */

import type { OpenBrowser } from '#agent/core/browser/browser-state.ts'
import { removeInvisible } from '../web/remove-invisible.ts'
import { CdpError } from './cdp.ts'
import { keyEvents } from './keys.ts'
import type { BrowserPage } from './page.ts'

/** An expected failure: the message tells the model what to do. */
export class BrowserProblem extends Error {
  override readonly name = 'BrowserProblem'

  /** The message may contain text of the page. */
  constructor(message: string) {
    super(removeInvisible(message))
  }
}

export const pageChanged =
  'The page changed since the last snapshot, so its references are void. Take a new browser_snapshot.'

export type Element = {
  readonly page: BrowserPage
  readonly frameId: string
  readonly objectId: string
  readonly backendNodeId: number
}

/** The document is compared first: another one may use the same numbers. */
export async function findElement(page: BrowserPage, ref: string, { frames }: OpenBrowser): Promise<Element> {
  const [, frameNo = '0', number] = /^@?(?:f(\d{1,3}))?e(\d{1,12})$/.exec(ref.trim()) ?? []
  if (number === undefined) throw new BrowserProblem(`${ref.slice(0, 50)} is no reference. They look like e12 or f1e3.`)
  const known = frames[Number(frameNo)]
  if (!known) throw new BrowserProblem('There is no snapshot with this reference. Take a browser_snapshot first.')
  const current = await page.frames()
  if (current.find(({ id }) => id === known.id)?.loaderId !== known.loaderId) throw new BrowserProblem(pageChanged)
  const backendNodeId = Number(number)
  try {
    const executionContextId = await page.world(known.id)
    const { object } = await page.send<{ object: { objectId: string } }>(
      'DOM.resolveNode',
      { backendNodeId, executionContextId },
      { frameId: known.id },
    )
    return { page, frameId: known.id, objectId: object.objectId, backendNodeId }
  } catch (error) {
    if (error instanceof CdpError && error.failure === 'refused')
      throw new BrowserProblem(`There is no element ${ref} any more. Take a new browser_snapshot.`)
    throw error
  }
}

/** Calls a function of ours on the element, in the isolated world. */
export async function callOn<T>(
  { page, frameId, objectId }: Element,
  functionDeclaration: string,
  ...values: unknown[]
): Promise<T> {
  const answer = await page.send<{ result: { value: T }; exceptionDetails?: object }>(
    'Runtime.callFunctionOn',
    {
      objectId,
      functionDeclaration,
      arguments: values.map((value) => ({ value })),
      returnByValue: true,
      userGesture: true,
    },
    { frameId },
  )
  if (answer.exceptionDetails) throw new BrowserProblem('The element does not allow this. Take a new browser_snapshot.')
  return answer.result.value
}

type ElementKind = {
  readonly tag: string
  readonly type: string
  readonly isDisabled: boolean
  readonly isEditable: boolean
}

const getKind = (element: Element): Promise<ElementKind> =>
  callOn(
    element,
    `function () {
      const tag = this.tagName?.toLowerCase() ?? ''
      return { tag, type: tag === 'input' ? this.type : '', isDisabled: this.disabled === true, isEditable: this.isContentEditable === true }
    }`,
  )

const chooseOption = `function (wanted) {
  const isOption = this.tagName === 'OPTION'
  const select = isOption ? this.closest('select') : this
  const text = (option) => option.label.replace(/\\s+/g, ' ').trim()
  const options = [...(select?.options ?? [])]
  const option = isOption ? this : options.find((one) => text(one) === wanted || one.value === wanted)
    ?? options.find((one) => text(one).toLowerCase().includes(wanted.toLowerCase()))
  if (!select || !option || option.disabled) return { options: options.slice(0, 50).map(text) }
  if (select.multiple) option.selected = !option.selected
  else select.value = option.value, option.selected = true
  select.dispatchEvent(new Event('input', { bubbles: true }))
  select.dispatchEvent(new Event('change', { bubbles: true }))
  return { chosen: text(option) }
}`

type ChosenOption = { readonly chosen?: string; readonly options?: readonly string[] }

async function choose(element: Element, text: string): Promise<string> {
  const { chosen, options = [] } = await callOn<ChosenOption>(element, chooseOption, text)
  if (chosen !== undefined) return chosen
  throw new BrowserProblem(`There is no such option. Options: ${options.join(', ').slice(0, 1_000)}`)
}

/** Clicks as a person does. An element without a place on the page is clicked by a script. */
export async function click(element: Element): Promise<Readonly<Record<string, unknown>>> {
  const { tag, isDisabled, type: kind } = await getKind(element)
  if (isDisabled) throw new BrowserProblem('The element is disabled. Something else has to happen first.')
  if (kind === 'file') throw new BrowserProblem('A click cannot choose files: use browser_upload.')
  if (tag === 'option') return { selected: await choose(element, '') }
  const place = await findPlace(element)
  if (!place) {
    await callOn(element, 'function () { this.click() }')
    return {}
  }
  const cover = await findCover(element)
  if (cover !== null)
    throw new BrowserProblem(`The element is covered by ${cover}. Close or move that first, or press Escape.`)
  const mouse = (event: string, more = {}) =>
    element.page.send('Input.dispatchMouseEvent', { type: event, ...place, ...more })
  const left = { button: 'left', clickCount: 1 }
  await Promise.all([mouse('mouseMoved'), mouse('mousePressed', { ...left, buttons: 1 }), mouse('mouseReleased', left)])
  return {}
}

type Point = { readonly x: number; readonly y: number }

/** The middle of the element in the viewport. Frames with a process of their own count from their own corner. */
async function findPlace({ page, frameId, backendNodeId }: Element): Promise<Point | undefined> {
  if (page.isApart(frameId)) return undefined
  try {
    await page.send('DOM.scrollIntoViewIfNeeded', { backendNodeId })
    const { quads } = await page.send<{ quads: readonly (readonly number[])[] }>('DOM.getContentQuads', {
      backendNodeId,
    })
    const quad = quads.find((points) => getArea(points) > 1)
    if (!quad) return undefined
    const mean = (offset: number) =>
      (at(quad, offset) + at(quad, offset + 2) + at(quad, offset + 4) + at(quad, offset + 6)) / 4
    return { x: mean(0), y: mean(1) }
  } catch (error) {
    if (error instanceof CdpError && error.failure === 'refused') return undefined
    throw error
  }
}

const at = (numbers: readonly number[], index: number): number => numbers[index] ?? 0
const getArea = (quad: readonly number[]): number =>
  Math.abs(
    (at(quad, 2) - at(quad, 0)) * (at(quad, 7) - at(quad, 1)) -
      (at(quad, 3) - at(quad, 1)) * (at(quad, 6) - at(quad, 0)),
  )

/** Returns the element that covers the middle of this one, within its own document. A label may lie over its field. */
const findCover = (element: Element): Promise<string | null> =>
  callOn(
    element,
    `function () {
      const { left, top, width, height } = this.getBoundingClientRect()
      let over = this.getRootNode().elementFromPoint?.(left + width / 2, top + height / 2)
      if (!over || over === this || this.contains(over) || over.contains(this)) return null
      if (over.closest('label')?.control === this || this.closest('label')?.contains(over)) return null
      const name = over.id ? '#' + over.id : over.className && typeof over.className === 'string' ? '.' + over.className.split(' ')[0] : ''
      return '<' + over.tagName.toLowerCase() + '>' + name.slice(0, 60)
    }`,
  )

/** Sets fields that have no text of their own, such as dates. */
const setValue = `function (value) {
  const setter = Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, 'value').set
  setter.call(this, value)
  this.dispatchEvent(new Event('input', { bubbles: true }))
  this.dispatchEvent(new Event('change', { bubbles: true }))
  return this.value === value
}`

const selectAll = `function () {
  this.focus()
  if (typeof this.select === 'function') this.select()
  else getSelection()?.selectAllChildren(this)
}`

const textTypes: ReadonlySet<string> = new Set(['', 'text', 'search', 'email', 'url', 'tel', 'password', 'number'])

/** Replaces the text of a field. Returns what the result may show. */
export async function type(element: Element, text: string): Promise<string> {
  const { tag, type: kind, isDisabled, isEditable } = await getKind(element)
  if (isDisabled) throw new BrowserProblem('The field is disabled. Something else has to happen first.')
  if (tag === 'select') return choose(element, text)
  if (tag === 'input' && !textTypes.has(kind)) {
    if (/^(?:file|button|submit|reset|image|checkbox|radio|hidden)$/.test(kind))
      throw new BrowserProblem(`Nothing can be typed into an input of the type ${kind}.`)
    if (!(await callOn<boolean>(element, setValue, text)))
      throw new BrowserProblem(`The field does not take this value. Its type is ${kind}.`)
    return text
  }
  if (tag !== 'input' && tag !== 'textarea' && !isEditable)
    throw new BrowserProblem('The element is no text field. Click it, or choose another one.')
  await callOn(element, selectAll)
  if (text === '') await press(element.page, 'Delete')
  else await element.page.send('Input.insertText', { text })
  return kind === 'password' ? '[hidden]' : text
}

export async function press(page: BrowserPage, key: string): Promise<void> {
  const events = keyEvents(key)
  if (!events)
    throw new BrowserProblem(`There is no key ${key.slice(0, 30)}. Examples: Enter, Tab, ArrowDown, Control+A, x.`)
  await Promise.all(events.map((event) => page.send('Input.dispatchKeyEvent', event)))
}
