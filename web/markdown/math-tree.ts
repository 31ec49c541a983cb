/** Turns TeX into a tree of MathML that has only elements and attributes of a list, and no address. */

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

export type MathNode = {
  readonly type: string
  readonly props: Readonly<Record<string, unknown>>
  readonly children: readonly (MathNode | string)[]
}

function read({ type, text, children = [], ...tree }: Tree, depth = 0): MathNode | string {
  if (text !== undefined) return text
  const inner = depth > maxDepth ? [] : children.map((child) => read(child, depth + 1))
  if (type === undefined || !elements.has(type)) return { type: 'mrow', props: {}, children: inner }
  const names = (tree.classes ?? []).filter(isClass).join(' ')
  const style = pick(tree.style, styles)
  const props = { ...pick(tree.attributes, attributes), style, ...(names && { class: names }) }
  return { type, props, children: inner }
}

/** Undefined for what is no TeX. */
export function readMath(text: string, displayMode: boolean): MathNode | undefined {
  try {
    const options = { displayMode, throwOnError: true, trust: false, strict: false, maxExpand: 300, annotate: false }
    const node = read(buildTree(text, options) as Tree)
    return typeof node === 'string' ? undefined : node
  } catch {
    return undefined
  }
}
