/**
 * Takes a snapshot of a page: its accessibility tree and those of its frames. References are ids of DOM nodes, which stay
 * valid while their document does. Of a page with too many elements only what is in view is listed.
 */

import type { SnapshotFrame } from '#agent/core/browser/browser-state.ts'
import { CdpError } from './cdp.ts'
import type { PageFrame, BrowserPage } from './page.ts'
import { type AxDocument, type AxNode, type RenderedTree, renderTree } from './render-tree.ts'

export type PageSnapshot = RenderedTree & {
  readonly frames: readonly SnapshotFrame[]
  readonly notes: readonly string[]
}

/** A tree takes about 400 bytes an element. */
const maxElements = 15_000
/** The search for elements that react to clicks reads the whole document. */
const maxSearchedElements = 5_000

const countElements = `document.getElementsByTagName('*').length`

/** Hides protected values from a snapshot. */
export type SnapshotMask = {
  readonly nodesIn: (frame: SnapshotFrame) => ReadonlySet<number>
  /** Masks values before a text is cut, so that no part of one is left. */
  readonly redact: (text: string) => string
}

export async function takeSnapshot(page: BrowserPage, isFull: boolean, mask?: SnapshotMask): Promise<PageSnapshot> {
  const frames = await page.frames()
  const counts = await Promise.all(frames.map(({ id }) => countIn(page, id)))
  const places = frames.map(({ id, loaderId }) => ({ id, loaderId }))
  if ((counts[0] ?? 0) > maxElements) return { ...(await takePartial(page, counts[0] ?? 0)), frames: places }
  const shown = frames.filter((_, at) => (counts[at] ?? 0) <= maxElements)
  const total = counts.reduce((sum, count) => sum + count, 0)
  const [clickable, documents] = await Promise.all([
    total <= maxSearchedElements ? findClickable(page) : new Set<number>(),
    Promise.all(shown.map((frame) => readDocument(page, frame, mask))),
  ])
  const nested = nest(documents, frames, clickable)
  const tree = renderTree(nested, isFull)
  // A page of texts alone has nothing for a compact snapshot.
  return { ...(tree.lines.length ? tree : renderTree(nested, true)), frames: places, notes: [] }
}

/** Chrome would compute the tree of such a page for seconds. */
async function takePartial(page: BrowserPage, count: number): Promise<Omit<PageSnapshot, 'frames'>> {
  const lines = await listInView(page)
  const note = `The page has ${count} elements: only headings, fields, links and buttons in view are listed. Scroll for more.`
  return { lines, elements: lines.length, hasPassword: false, notes: [note] }
}

/** A frame that is being replaced has nothing to show. */
const countIn = (page: BrowserPage, frameId: string): Promise<number> =>
  page.evaluate<number>(countElements, frameId).catch(orElse(0))

async function readDocument(page: BrowserPage, frame: PageFrame, mask?: SnapshotMask): Promise<ReadDocument> {
  const owner = frame.depth === 0 ? undefined : findOwner(page, frame)
  const [nodes, found] = await Promise.all([readTree(page, frame), owner])
  return { frame, nodes: mask ? maskNodes(nodes, frame, mask) : nodes, owner: found }
}

/** A masked field keeps its name, and shows neither its value nor the texts in it. */
function maskNodes(nodes: readonly AxNode[], frame: PageFrame, { nodesIn, redact }: SnapshotMask): readonly AxNode[] {
  const masked = nodesIn(frame)
  const clean = <Text extends { readonly value?: unknown } | undefined>(text: Text) =>
    typeof text?.value === 'string' ? { value: redact(text.value) } : text
  return nodes.map((node) => {
    const shown = {
      ...node,
      ...(node.name && { name: clean(node.name) }),
      ...(node.value && { value: clean(node.value) }),
    }
    return masked.has(node.backendDOMNodeId ?? -1) ? { ...shown, childIds: [], value: { value: '***' } } : shown
  })
}

async function readTree(page: BrowserPage, { id, depth }: PageFrame): Promise<readonly AxNode[]> {
  const read = page.send<{ nodes: readonly AxNode[] }>('Accessibility.getFullAXTree', { frameId: id }, { frameId: id })
  const { nodes } = await (depth === 0 ? read : read.catch(orElse({ nodes: [] })))
  return nodes
}

const orElse =
  <T>(value: T) =>
  (error: unknown): T => {
    if (error instanceof CdpError && error.failure === 'refused') return value
    throw error
  }

/** The node that shows a frame in the document around it. */
async function findOwner(page: BrowserPage, { id, parentId = '' }: PageFrame): Promise<number | undefined> {
  const owner = page.send<{ backendNodeId: number }>('DOM.getFrameOwner', { frameId: id }, { frameId: parentId })
  return (await owner.catch(orElse(undefined)))?.backendNodeId
}

type ReadDocument = {
  readonly frame: PageFrame
  readonly nodes: readonly AxNode[]
  readonly owner: number | undefined
}

/** Nests the documents. Those of frames without an owner are left out. */
function nest(read: readonly ReadDocument[], frames: readonly PageFrame[], clickable: ReadonlySet<number>): AxDocument {
  const build = ({ frame, nodes }: ReadDocument): AxDocument => {
    const at = frames.indexOf(frame)
    const inside = read.filter(({ frame: { parentId }, owner }) => parentId === frame.id && owner !== undefined)
    return {
      prefix: at === 0 ? '' : `f${at}`,
      nodes,
      clickable,
      frames: new Map(inside.map((document) => [document.owner ?? -1, build(document)])),
    }
  }
  const [main] = read
  return main ? build(main) : { prefix: '', nodes: [], clickable, frames: new Map() }
}

type CapturedDocument = {
  readonly nodes: {
    readonly backendNodeId?: readonly number[]
    readonly isClickable?: { readonly index: readonly number[] }
  }
}

/** Chrome knows the elements with listeners for clicks. */
async function findClickable(page: BrowserPage): Promise<ReadonlySet<number>> {
  const captured = page.send<{ documents: readonly CapturedDocument[] }>('DOMSnapshot.captureSnapshot', {
    computedStyles: [],
  })
  const { documents } = await captured.catch(orElse({ documents: [] }))
  return new Set(
    documents.flatMap(({ nodes: { backendNodeId = [], isClickable } }) =>
      (isClickable?.index ?? []).flatMap((index) => backendNodeId[index] ?? []),
    ),
  )
}

const maxListed = 100

/** Runs in the page. It keeps the elements in a list, whose nodes are described afterwards. */
const collect = `(() => {
  const wanted = 'h1,h2,h3,a[href],button,input,select,textarea,summary,[role=button],[role=link],[role=checkbox],[role=tab],[role=menuitem],[contenteditable=""],[contenteditable=true],[onclick]'
  const isInView = (element) => {
    const { top, bottom, left, right, width, height } = element.getBoundingClientRect()
    return width > 0 && height > 0 && bottom > 0 && right > 0 && top < innerHeight && left < innerWidth
  }
  const found = []
  for (const element of document.querySelectorAll(wanted)) {
    if (isInView(element)) found.push(element)
    if (found.length >= ${maxListed}) break
  }
  return found
})()`

const describe = `function () {
  const isSecret = this.type === 'password' || getComputedStyle(this).webkitTextSecurity !== 'none'
  const label = this.getAttribute('aria-label') || this.labels?.[0]?.innerText || (isSecret ? '' : this.innerText || this.value) || this.placeholder || this.title || ''
  return [this.tagName.toLowerCase(), String(label).replace(/\\s+/g, ' ').trim().slice(0, 200)]
}`

type RemoteValue = { readonly objectId?: string; readonly value?: unknown }
type Property = { readonly name: string; readonly value?: RemoteValue }

/** Lists the elements in view that a person could use: for pages whose tree is too large. */
async function listInView(page: BrowserPage): Promise<readonly string[]> {
  const contextId = await page.world()
  const list = await page.send<{ result: RemoteValue }>('Runtime.evaluate', { expression: collect, contextId })
  const { result } = await page.send<{ result: readonly Property[] }>('Runtime.getProperties', {
    objectId: list.result.objectId,
    ownProperties: true,
  })
  const elements = result.filter(({ name }) => /^\d+$/.test(name)).flatMap(({ value }) => value?.objectId ?? [])
  return Promise.all(elements.map((objectId) => describeElement(page, objectId)))
}

async function describeElement(page: BrowserPage, objectId: string): Promise<string> {
  const [{ node }, { result }] = await Promise.all([
    page.send<{ node: { backendNodeId: number } }>('DOM.describeNode', { objectId }),
    page.send<{ result: RemoteValue }>('Runtime.callFunctionOn', {
      objectId,
      functionDeclaration: describe,
      returnByValue: true,
    }),
  ])
  const [tag = '', label = ''] = (result.value ?? []) as readonly string[]
  return `- ${tag} ${JSON.stringify(label)} [ref=e${node.backendNodeId}]`
}
