/** Turns TeX into MathML. Of the tree of the library only elements and attributes of a list are drawn, as elements. */

import { h, type VNode } from 'preact'
import temml from 'temml'

type Tree = {
  readonly type?: string
  readonly text?: string
  readonly attributes?: Readonly<Record<string, unknown>>
  readonly style?: Readonly<Record<string, unknown>>
  readonly classes?: readonly string[]
  readonly children?: readonly Tree[]
}

const elements = new Set(
  'math menclose merror mfrac mi mmultiscripts mn mo mover mpadded mphantom mprescripts mroot mrow ms mspace msqrt mstyle msub msubsup msup mtable mtd mtext mtr munder munderover none semantics'.split(
    ' ',
  ),
)
const attributes = new Set(
  'accent accentunder columnalign columnlines columnspacing columnspan depth display displaystyle fence form height largeop linethickness lspace mathbackground mathcolor mathsize mathvariant maxsize minsize movablelimits notation rowlines rowspacing rowspan rspace scriptlevel separator stretchy symmetric voffset width'.split(
    ' ',
  ),
)
const styles = new Set(
  'backgroundColor border borderBottom borderLeft borderRight borderTop color display fontSize fontWeight height marginLeft marginRight minWidth padding paddingBottom paddingLeft paddingRight paddingTop textAlign width'.split(
    ' ',
  ),
)
/** The library calls it private, and names no other way to a tree that is not HTML. */
const { __renderToMathMLTree: buildTree } = temml

/** Lengths, colours and words. No function can name an address. */
const isPlain = (value: unknown): boolean => /^[\w\s#.%+-]{1,80}$/.test(String(value))
const isClass = (name: string): boolean => /^(?:tml-|math)[\w-]{1,30}$/.test(name)
const maxDepth = 100

const pick = (all: Tree['attributes'], allowed: ReadonlySet<string>) =>
  Object.fromEntries(Object.entries(all ?? {}).filter(([name, value]) => allowed.has(name) && isPlain(value)))

function draw({ type, text, children = [], ...tree }: Tree, depth = 0): VNode | string {
  if (text !== undefined) return text
  const drawn = depth > maxDepth ? [] : children.map((child) => draw(child, depth + 1))
  if (type === undefined || !elements.has(type)) return h('mrow', {}, ...drawn)
  const names = (tree.classes ?? []).filter(isClass).join(' ')
  const props = {
    ...pick(tree.attributes, attributes),
    style: pick(tree.style, styles),
    ...(names && { class: names }),
  }
  return h(type as string, props as object, ...drawn)
}

/** Undefined for what is no TeX. */
export function drawMath(text: string, displayMode: boolean): VNode | undefined {
  try {
    const options = { displayMode, throwOnError: true, trust: false, strict: false, maxExpand: 300, annotate: false }
    const node = draw(buildTree(text, options) as Tree)
    return typeof node === 'string' ? undefined : node
  } catch {
    return undefined
  }
}
