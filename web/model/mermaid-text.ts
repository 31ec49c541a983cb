/**
 * Rewrites Mermaid for the library that lays it out, which knows one spelling of each thing: links between spaces, ids of
 * plain letters, labels without brackets. What it would draw wrongly is refused, so that its text is shown instead.
 */

/** Labels hold these in place of signs that the library takes for syntax. */
const firstSign = 0xe000
const signs = '[](){}<>|";&\\/'

const hide = (label: string): string =>
  decode(label).replace(/[[\](){}<>|";&\\/]/g, (sign) => String.fromCharCode(firstSign + signs.indexOf(sign)))

/** Restores the signs in the finished SVG, and drops the only words of the library: `(no attributes)` of an entity. */
export const showSigns = (svg: string): string =>
  svg
    .replace(/(?<=font-style="italic">)\(no attributes\)(?=<)/g, '')
    .replace(/[\uE000-\uE00D]/g, (hidden) => `&#${signs.charCodeAt(hidden.charCodeAt(0) - firstSign)};`)

const entities: Readonly<Record<string, string>> = { quot: '"', amp: '&', lt: '<', gt: '>', nbsp: ' ' }
/** Mermaid writes `#quot;` and `#35;`, and HTML `&quot;`. */
const decode = (label: string): string =>
  label.replace(/[#&]#?(?:(\d{1,6})|([a-z]{2,6}));/g, (all, code?: string, name = '') =>
    code === undefined ? (entities[name] ?? all) : String.fromCodePoint(Math.min(Number(code), 0x10_ff_ff)),
  )

/** Undefined: it would be drawn as something else. */
export function normaliseMermaid(text: string): string | undefined {
  const lines = text
    .replace(/^\s*---\n[^]*?\n---\n/, '')
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line && !line.startsWith('%%'))
  const [head = '', ...rest] = lines
  const flow = /^(?:graph|flowchart)(?:-elk)?(?:[ \t]+(TB|TD|BT|RL|LR))?[ \t]*(?:;(.*))?$/i.exec(head)
  if (flow) return normaliseFlow(flow[1]?.toUpperCase() ?? 'TD', [flow[2] ?? '', ...rest])
  const [, spaced] = relations.find(([kind]) => head.startsWith(kind)) ?? []
  if (!spaced) return lines.join('\n')
  return [head, ...rest.map((line) => spaceRelation(line, spaced))].join('\n')
}

const classRelation =
  /(?<=[\w"`~>])[ \t]*(<\|--|--\|>|<\|\.\.|\.\.\|>|\*--|--\*|o--|--o|<--|-->|<\.\.|\.\.>|--|\.\.)[ \t]*(?=[\w"`])/
const entityRelation = /(?<=[\w"])[ \t]*([|}][o|](?:--|\.\.)[o|][|{])[ \t]*(?=[\w"])/
const relations = [
  ['classDiagram', classRelation],
  ['erDiagram', entityRelation],
] as const
const spaceRelation = (line: string, relation: RegExp): string => {
  const at = line.indexOf(':')
  const [names, label] = at < 0 ? [line, ''] : [line.slice(0, at), line.slice(at)]
  return names.replace(relation, ' $1 ') + label
}

const statements = /^(?:classDef|linkStyle|style|class|click|subgraph|direction|end)\b/

function normaliseFlow(direction: string, lines: readonly string[]): string | undefined {
  const ids = new Map<string, string>()
  const groups: string[] = []
  const out = [`graph ${direction}`]
  for (const statement of lines.flatMap(splitStatements)) {
    if (statement === 'end' || /^direction\s/.test(statement)) out.push(statement)
    else if (/^subgraph\b/.test(statement)) out.push(readSubgraph(statement, groups))
    // Colours are those of the page, and links of a picture lead nowhere.
    else if (!statements.test(statement)) {
      const read = readChain(statement, ids)
      if (read === undefined) return undefined
      out.push(read)
    }
  }
  // A link to a whole group would make a node of its name.
  return groups.some((group) => ids.has(group)) ? undefined : out.join('\n')
}

/** A semicolon outside of quotes and brackets ends a statement. */
function splitStatements(line: string): readonly string[] {
  const parts = ['']
  let isQuoted = false
  let depth = 0
  for (const sign of line) {
    if (sign === '"') isQuoted = !isQuoted
    else if (!isQuoted && '[({'.includes(sign)) depth++
    else if (!isQuoted && '])}'.includes(sign)) depth--
    if (sign === ';' && !isQuoted && depth <= 0) parts.push('')
    else parts[parts.length - 1] += sign
  }
  return parts.map((part) => part.trim()).filter((part) => part && !part.startsWith('%%'))
}

function readSubgraph(statement: string, groups: string[]): string {
  const name = statement.slice('subgraph'.length).trim()
  const [, id = name, label = name] = /^([^\s[]+)\s*\[(.+)\]$/.exec(name) ?? []
  groups.push(id)
  return `subgraph group_${groups.length} [${hide(unquote(label)) || ' '}]`
}

const unquote = (label: string): string => /^"([^]*)"$/.exec(label.trim())?.[1] ?? label.trim()

/** Opening and closing signs of the shapes of a node, longer ones first. */
const shapes = [
  ['(((', ')))'],
  ['([', '])'],
  ['((', '))'],
  ['[[', ']]'],
  ['[(', ')]'],
  ['{{', '}}'],
  ['[', ']'],
  ['(', ')'],
  ['{', '}'],
  ['>', ']'],
] as const

type Read = { readonly text: string; readonly end: number }

/** `A[one] & B --> C -- text --> D`. Undefined: a part of it is not understood. */
function readChain(statement: string, ids: Map<string, string>): string | undefined {
  const out: string[] = []
  let at = 0
  for (;;) {
    const nodes = readNodes(statement, at, ids)
    if (!nodes) return undefined
    out.push(nodes.text)
    if (nodes.end >= statement.length) return out.join(' ')
    const link = readLink(statement, nodes.end)
    if (!link) return undefined
    out.push(link.text)
    at = link.end
  }
}

const skipSpaces = (text: string, from: number): number => {
  let at = from
  while (text[at] === ' ' || text[at] === '\t') at++
  return at
}

function readNodes(text: string, from: number, ids: Map<string, string>): Read | undefined {
  const nodes: string[] = []
  let at = from
  for (;;) {
    const node = readNode(text, skipSpaces(text, at), ids)
    if (!node) return undefined
    nodes.push(node.text)
    at = skipSpaces(text, node.end)
    if (text[at] !== '&') return { text: nodes.join(' & '), end: at }
    at++
  }
}

/** Signs of an id: no brackets, no spaces, and neither the beginning of a link nor of a class. */
const idPattern = /(?:(?!--|==|-\.|~~~|:::|<-|<=)[^\s[\](){}>|&;"@])+/y

const className = /:::[\w-]+/y

function readNode(text: string, from: number, ids: Map<string, string>): Read | undefined {
  const [id] = match(idPattern, text, from) ?? []
  if (id === undefined) return undefined
  const at = from + id.length
  const shape = readShape(text, at)
  // `A@{…}` and unclosed brackets.
  if (!shape && '[({>@'.includes(text[at] ?? ' ')) return undefined
  const end = shape?.end ?? at
  const [named = ''] = match(className, text, end) ?? []
  return { text: drawNode(id, shape, ids), end: end + named.length }
}

/** A node of other letters gets an id of plain ones, and keeps its name as its label. */
function drawNode(id: string, shape: Read | undefined, ids: Map<string, string>): string {
  const isKnown = ids.has(id)
  const safe = ids.get(id) ?? (/^\w+$/.test(id) ? id : `node_${ids.size}_`)
  ids.set(id, safe)
  if (shape) return safe + shape.text
  return isKnown || safe === id ? safe : `${safe}[${hide(id)}]`
}

function readShape(text: string, at: number): Read | undefined {
  const shape = shapes.find(([open]) => text.startsWith(open, at))
  if (!shape) return undefined
  const [open, close] = shape
  const from = skipSpaces(text, at + open.length)
  const quoted = text[from] === '"' ? text.indexOf('"', from + 1) : -1
  const until = text.indexOf(close, quoted < 0 ? from : quoted)
  if (until < 0) return undefined
  const label = unquote(text.slice(from, until))
  // `[/text/]` leans, which the library draws for two of its four forms.
  const [, plain = label] = /^[/\\]([^]*)[/\\]$/.exec(label) ?? []
  const lines = unquote(plain)
    .split(/<br\s*\/?>|\\n/i)
    .map(hide)
  return { text: open + (lines.join('<br>') || ' ') + close, end: until + close.length }
}

/** Whole links: solid, thick and dotted. Two signs without a head begin a label. */
const whole = /(<?)(?:-{2,}([>xo])|-{3,}|(={2,})([>xo])|(={3,})|(-\.+-)([>xo]?))/y
const opening = /(<?)(--|==|-\.)/y
const closings = { '--': /-{2,}([>xo]?)/g, '==': /={2,}([>xo]?)/g, '-.': /\.+-([>xo]?)/g } as const
type Line = keyof typeof closings

function readLink(text: string, from: number): Read | undefined {
  const found = match(whole, text, from)
  if (found) return withLabel(found, text, from)
  const open = match(opening, text, from)
  if (!open) return undefined
  const [begun, back = '', line] = open
  const closing = closings[line as Line]
  const close = match(closing, text, from + begun.length)
  if (!close) return undefined
  const label = text.slice(from + begun.length, close.index)
  return { text: drawLink(back, line as Line, close[1], label), end: close.index + close[0].length }
}

function match(pattern: RegExp, text: string, from: number): RegExpExecArray | null {
  pattern.lastIndex = from
  return pattern.exec(text)
}

/** `-->|text|` */
function withLabel(found: RegExpExecArray, text: string, from: number): Read {
  const [all, back = '', head, thickWithHead, thickHead, thick, dotted, dottedHead] = found
  const line = dotted === undefined ? ((thickWithHead ?? thick) === undefined ? '--' : '==') : '-.'
  const at = skipSpaces(text, from + all.length)
  const until = text[at] === '|' ? text.indexOf('|', at + 1) : -1
  const label = until < 0 ? '' : text.slice(at + 1, until)
  const end = until < 0 ? from + all.length : until + 1
  return { text: drawLink(back, line, head ?? thickHead ?? dottedHead, label), end }
}

const arrows: Readonly<Record<Line, readonly [arrow: string, line: string]>> = {
  '--': ['-->', '---'],
  '==': ['==>', '==='],
  '-.': ['-.->', '-.-'],
}

/** A cross and a circle at the end are drawn as a line without a head. */
function drawLink(back: string, line: Line, head: string | undefined, label: string): string {
  const isArrow = head === '>'
  const said = hide(unquote(label))
  return `${isArrow ? back : ''}${arrows[line][isArrow ? 0 : 1]}${said && `|${said}|`}`
}
