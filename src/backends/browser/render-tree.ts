/** Renders accessibility trees of a page as indented lines with references, for a model. */

export type AxNode = {
  readonly nodeId: string
  readonly parentId?: string
  readonly childIds?: readonly string[]
  readonly ignored?: boolean
  readonly backendDOMNodeId?: number
  readonly role?: AxValue
  readonly name?: AxValue
  readonly value?: AxValue
  readonly properties?: readonly { readonly name: string; readonly value: AxValue }[]
}
type AxValue = { readonly value?: unknown }

/** One document, with the documents of its frames by the node that shows them. */
export type AxDocument = {
  /** Before the number of each reference: empty for the main document, `f1` for its first frame. */
  readonly prefix: string
  readonly nodes: readonly AxNode[]
  readonly frames: ReadonlyMap<number, AxDocument>
  /** Nodes that react to clicks although their role does not say so. */
  readonly clickable: ReadonlySet<number>
}

export type RenderedTree = {
  readonly lines: readonly string[]
  /** Elements with a reference. */
  readonly elements: number
  readonly hasPassword: boolean
}

const interactive: ReadonlySet<string> = new Set([
  'button',
  'checkbox',
  'combobox',
  'DisclosureTriangle',
  'link',
  'listbox',
  'menuitem',
  'menuitemcheckbox',
  'menuitemradio',
  'option',
  'radio',
  'searchbox',
  'slider',
  'spinbutton',
  'switch',
  'tab',
  'textbox',
  'treeitem',
  'ColorWell',
  'Date',
  'DateTime',
  'InputTime',
])
/** Roles that say nothing: their children take their place. */
const hollow: ReadonlySet<string> = new Set([
  'generic',
  'none',
  'InlineTextBox',
  'LineBreak',
  'MenuListPopup',
  'RootWebArea',
])
/** Their text matters also in a compact snapshot. */
const speaking: ReadonlySet<string> = new Set(['alert', 'status', 'dialog', 'alertdialog', 'heading', 'cell', 'code'])
const textRoles: ReadonlySet<string> = new Set(['StaticText', 'ListMarker'])

const maxNameChars = 200
const maxIndent = 20
const maxOptions = 50
const hiddenValue = '[hidden]'

type TreeWalk = {
  readonly isFull: boolean
  readonly lines: string[]
  elements: number
  hasPassword: boolean
}

export function renderTree(document: AxDocument, isFull: boolean): RenderedTree {
  const walk: TreeWalk = { isFull, lines: [], elements: 0, hasPassword: false }
  renderDocument(document, 0, walk)
  return walk
}

type OpenNode = {
  readonly node: AxNode
  readonly depth: number
  readonly around: Surroundings
  readonly document: Tree
}
/** `name` is that of the closest shown element: a text that repeats it is left out. */
type Surroundings = { readonly name: string; readonly isSpeaking: boolean; readonly isInteractive: boolean }
type Tree = AxDocument & { readonly byId: ReadonlyMap<string, AxNode> }

const nothingAround: Surroundings = { name: '', isSpeaking: false, isInteractive: false }

/** Walks with a stack of its own, because pages may be nested deeper than the stack of calls. */
function renderDocument(document: AxDocument, depth: number, walk: TreeWalk): void {
  const stack: OpenNode[] = listRoots(document, depth)
  for (let open = stack.pop(); open; open = stack.pop()) {
    const inner = renderNode(open, walk)
    const children = getChildren(open, walk)
    for (const node of children.toReversed()) stack.push({ node, document: open.document, ...inner })
    const frame = open.document.frames.get(numberOf(open.node))
    if (frame) stack.push(...listRoots(frame, inner.depth))
  }
}

function listRoots(document: AxDocument, depth: number): OpenNode[] {
  const tree = { ...document, byId: new Map(document.nodes.map((node) => [node.nodeId, node])) }
  const [root] = document.nodes
  return root ? [{ node: root, depth, around: nothingAround, document: tree }] : []
}

function getChildren({ node, document }: OpenNode, walk: TreeWalk): readonly AxNode[] {
  const children = (node.childIds ?? []).flatMap((id) => document.byId.get(id) ?? [])
  if (roleOf(node) !== 'MenuListPopup' || children.length <= maxOptions) return children
  walk.lines.push(`${'  '.repeat(1)}- ${children.length - maxOptions} more options: type the one you want`)
  return children.slice(0, maxOptions)
}

const roleOf = ({ role }: AxNode): string => (typeof role?.value === 'string' ? role.value : '')
const textOf = (value: AxValue | undefined): string =>
  typeof value?.value === 'string' || typeof value?.value === 'number' ? clean(String(value.value)) : ''

/** Characters that nobody sees may carry orders. */
const clean = (text: string): string =>
  text
    .slice(0, 4 * maxNameChars)
    .replace(/[\p{Cc}\p{Cf}\p{Co}\u2028\u2029]/gu, ' ')
    .replace(/ {2,}/g, ' ')
    .trim()

const shorten = (text: string): string => (text.length > maxNameChars ? `${text.slice(0, maxNameChars)}…` : text)

function renderNode(open: OpenNode, walk: TreeWalk): Pick<OpenNode, 'depth' | 'around'> {
  const { node, depth, around } = open
  const role = roleOf(node)
  if (node.ignored || role === '') return { depth, around }
  if (!textRoles.has(role)) return renderElement(open, walk)
  renderText(textOf(node.name), { depth, around }, walk)
  return { depth, around }
}

function renderElement(
  { node, depth, around, document }: OpenNode,
  walk: TreeWalk,
): Pick<OpenNode, 'depth' | 'around'> {
  const role = roleOf(node)
  const name = textOf(node.name)
  const isClickable = isClickableNode(node, around, document)
  const isInteractive = interactive.has(role) || isClickable || isEditable(node)
  if (!isShown(role, name, isInteractive)) return { depth, around }
  const value = parseValue(node)
  if (isInteractive) walk.elements++
  if (value === hiddenValue) walk.hasPassword = true
  const label = role === 'generic' ? 'clickable' : role
  const parts = [label, ...describe(node, document, isInteractive)].join(' ')
  walk.lines.push(`${indent(depth)}- ${parts}${value && `: ${value}`}${walk.isFull ? getAddress(node) : ''}`)
  const isSpeaking = speaking.has(role) || (isClickable && name === '')
  return { depth: depth + 1, around: { name, isSpeaking, isInteractive } }
}

/** Within a link or button everything reacts to clicks. */
const isClickableNode = (node: AxNode, { isInteractive }: Surroundings, { clickable }: AxDocument): boolean =>
  !isInteractive && roleOf(node) !== 'LabelText' && clickable.has(numberOf(node))

const numberOf = ({ backendDOMNodeId = -1 }: AxNode): number => backendDOMNodeId

function isShown(role: string, name: string, isInteractive: boolean): boolean {
  if (isInteractive || role === 'Iframe') return true
  return !hollow.has(role) && (role === 'heading' || name !== '' || speaking.has(role))
}

/** A text is shown in a full snapshot, and within elements whose text matters. */
function renderText(text: string, { depth, around }: Pick<OpenNode, 'depth' | 'around'>, walk: TreeWalk): void {
  if (text === '' || around.name.includes(text) || isMasked(text)) return
  if (!walk.isFull && !around.isSpeaking) return
  walk.lines.push(`${indent(depth)}- text ${JSON.stringify(walk.isFull ? text : shorten(text))}`)
}

const indent = (depth: number): string => '  '.repeat(Math.min(depth, maxIndent))

const propertyOf = ({ properties = [] }: AxNode, name: string): unknown =>
  properties.find((property) => property.name === name)?.value.value

/** Text fields have inner nodes that are editable too: only the field can be focused. */
const isEditable = (node: AxNode): boolean =>
  Boolean(propertyOf(node, 'editable')) && propertyOf(node, 'focusable') === true

function describe(node: AxNode, { prefix }: AxDocument, isInteractive: boolean): readonly string[] {
  const name = shorten(textOf(node.name))
  const ref = isInteractive && node.backendDOMNodeId !== undefined && `[ref=${prefix}e${node.backendDOMNodeId}]`
  const level = propertyOf(node, 'level')
  return [
    name && JSON.stringify(name),
    ref,
    level !== undefined && `[level=${String(level)}]`,
    ...states.map(([property, shown]) => shown(propertyOf(node, property))),
  ].filter((part): part is string => typeof part === 'string' && part !== '')
}

const flag = (label: string) => (value: unknown) => (value === true || value === 'true') && `[${label}]`
const states: readonly (readonly [property: string, shown: (value: unknown) => string | false])[] = [
  ['checked', (value) => (value === 'mixed' ? '[checked=mixed]' : flag('checked')(value))],
  ['pressed', flag('pressed')],
  ['selected', flag('selected')],
  ['disabled', flag('disabled')],
  ['required', flag('required')],
  ['readonly', flag('readonly')],
  ['focused', flag('focused')],
  ['invalid', flag('invalid')],
  ['expanded', (value) => (value === true ? '[expanded]' : value === false && '[collapsed]')],
]

/** Chrome shows a dot for each character of a password. Their number is nobody's business either. */
const isMasked = (text: string): boolean => /^[\u2022\u25cf\u2219*]{1,1000}$/.test(text)

function parseValue(node: AxNode): string {
  const value = textOf(node.value)
  if (value === '' || value === textOf(node.name)) return ''
  return isMasked(value) ? hiddenValue : JSON.stringify(shorten(value))
}

function getAddress(node: AxNode): string {
  const url = roleOf(node) === 'link' && propertyOf(node, 'url')
  return typeof url === 'string' && /^https?:/.test(url) ? ` -> ${url.slice(0, 300)}` : ''
}
