/**
 * Puts a guard into every loop and every function, so that a program can be stopped and lets others have their turn:
 * `tick()` counts and throws when it is over; where code may wait, it waits when `tick()` says so. Nothing changes its
 * line, so that errors name the lines of the program as it was written.
 */

import { type Node, parse } from 'acorn'
import { hasCatastrophicBacktracking } from './catastrophic-backtracking.ts'
import { missingModuleMessage, slowPatternMessage } from './messages.ts'

/** What a program cannot do here, with its place. */
export class UnsupportedSyntax extends Error {}

type Edit = { readonly at: number; text: string; readonly erase?: number }
const given = ['tick', 'pause', 'load', 'counted'] as const
type Names = Readonly<Record<(typeof given)[number], string>>

/** Nodes of the syntax tree are read by name: their types are a union of a hundred. */
type Syntax = Node & { readonly [field: string]: unknown }

type Context = {
  readonly source: string
  readonly names: Names
  readonly opens: Edit[]
  readonly closes: Edit[]
  readonly imports: string[]
  /** Elements of arrays whose length is counted. */
  readonly spreads: Set<Syntax>
}

const LOOPS = /^(?:For|ForIn|ForOf|While|DoWhile)Statement$/
const FUNCTIONS = /^(?:FunctionDeclaration|FunctionExpression|ArrowFunctionExpression)$/

/** The program as a module whose default export runs it: `({tick, pause, load, counted}) => Promise<last value>`. */
export function instrument(source: string, importable: ReadonlySet<string>): string {
  const ast = parse(source, {
    ecmaVersion: 'latest',
    sourceType: 'module',
    allowReturnOutsideFunction: true,
    allowHashBang: true,
    locations: true,
    preserveParens: true,
  }) as unknown as Syntax
  const names = namesNotIn(source)
  const context: Context = { source, names, opens: [], closes: [], imports: [], spreads: new Set() }
  const body = ast['body'] as readonly Syntax[]
  for (const statement of body) takeModuleSyntax(statement, context, importable)
  for (const statement of body) visit(statement, true, context)
  returnLast(body.at(-1), context)
  const head = `${context.imports.join('')}export default async ({${given.map((name) => `${name}:${names[name]}`).join()}})=>{`
  return `${head}${edited(source.replace(/^#!/, '//'), context)}\n}`
}

function namesNotIn(source: string): Names {
  let mark = '_'
  while (given.some((name) => source.includes(mark + name))) mark += '_'
  return Object.fromEntries(given.map((name) => [name, mark + name])) as Names
}

/** Imports of what is there go to the head of the module; `export` before a declaration means nothing here. */
function takeModuleSyntax(node: Syntax, context: Context, importable: ReadonlySet<string>): void {
  if (node.type === 'ImportDeclaration') {
    const name = String((node['source'] as unknown as Syntax)['value'])
    const bare = name.replace(/^node:/, '')
    if (!importable.has(bare)) throw new UnsupportedSyntax(`${missingModuleMessage(name, importable)} (line ${lineOf(node)})`)
    const text = context.source.slice(node.start, node.end)
    const from = text.lastIndexOf(name)
    context.imports.push(
      `${text.slice(0, from)}node:${bare}${text.slice(from + name.length)}`.replace(/\s*\n\s*/g, ' ') + ';',
    )
    context.opens.push({ at: node.start, text: '', erase: node.end })
  } else if (node.type === 'ExportNamedDeclaration' && node['declaration']) {
    context.opens.push({ at: node.start, text: '', erase: (node['declaration'] as Syntax).start })
  } else if (node.type.startsWith('Export')) {
    throw new UnsupportedSyntax(`There is nobody to export to (line ${lineOf(node)}). Print what matters with console.log.`)
  }
}

const lineOf = (node: Syntax): number => (node as unknown as { loc: { start: { line: number } } }).loc.start.line

/** Bytes that are taken when a node is run once: loops and functions count their own insides, each time they run. */
const BYTES: Readonly<Record<string, number>> = {
  ObjectExpression: 24,
  ArrayExpression: 24,
  Property: 8,
  NewExpression: 48,
  TemplateLiteral: 32,
  ArrowFunctionExpression: 48,
  FunctionExpression: 48,
  ClassExpression: 200,
}

/** A call that makes something longer. */
function grows(node: Syntax): boolean {
  const { property } = node['callee'] as Syntax & { readonly property?: { readonly name?: string } }
  return /^(?:push|unshift|set|add|append)$/.test(property?.name ?? '')
}

const bytesOf = (node: Syntax): number => BYTES[node.type] ?? (node.type === 'CallExpression' && grows(node) ? 16 : 0)

/** `mayWait`: inside an async function or at the top. Returns the estimate of bytes. */
function visit(node: Syntax, mayWait: boolean, context: Context): number {
  if (LOOPS.test(node.type)) return guardLoop(node, mayWait, context)
  if (FUNCTIONS.test(node.type)) return bytesOf(node) + guardFunction(node, context)
  if (node.type === 'ImportExpression') return guardImport(node, mayWait, context)
  if (node.type === 'ArrayExpression') countSpreads(node, context)
  if (node.type === 'Literal') refuseExplosive(node)
  const isInit = node.type === 'StaticBlock' || node.type === 'PropertyDefinition'
  const bytes = visitChildren(node, mayWait && !isInit, context)
  // Closed after what is inside of it.
  if (context.spreads.has(node)) context.closes.push({ at: node.end, text: ')' })
  return bytesOf(node) + bytes
}

function visitChildren(node: Syntax, mayWait: boolean, context: Context): number {
  let bytes = 0
  for (const child of childrenOf(node)) bytes += visit(child, mayWait, context)
  return bytes
}

function* childrenOf(node: Syntax): Generator<Syntax> {
  for (const value of Object.values(node)) {
    if (isNode(value)) yield value
    else if (Array.isArray(value)) yield* value.filter(isNode)
  }
}

const isNode = (value: unknown): value is Syntax =>
  typeof value === 'object' && value !== null && 'type' in value && 'end' in value
const isBlock = (body: unknown): boolean => (body as Syntax).type === 'BlockStatement'

const tickOf = ({ tick, pause }: Names, mayWait: boolean, bytes: number): string =>
  mayWait ? `${tick}(${bytes})&&await ${pause}()` : `${tick}(${bytes})`

function guardLoop(node: Syntax, mayWait: boolean, context: Context): number {
  const { opens, closes, names } = context
  const body = node['body'] as Syntax
  const open: Edit = { at: isBlock(body) ? body.start + 1 : body.start, text: '' }
  // In front of what its inside adds at the same place.
  opens.push(open)
  const bytes = visitChildren(node, mayWait, context)
  open.text = `${isBlock(body) ? '' : '{'}${tickOf(names, mayWait, bytes)};`
  if (!isBlock(body)) closes.push({ at: body.end, text: '}' })
  return 0
}

function guardFunction(node: Syntax, context: Context): number {
  const { opens, closes, names } = context
  const body = node['body'] as Syntax
  const mayWait = node['async'] === true
  // A value for a parameter is worked out before the function runs: nothing can be waited for there.
  for (const parameter of node['params'] as readonly Syntax[]) visit(parameter, false, context)
  const open: Edit = { at: isBlock(body) ? body.start + 1 : body.start, text: '' }
  opens.push(open)
  const guard = tickOf(names, mayWait, visit(body, mayWait, context))
  open.text = isBlock(body) ? `${guard};` : `(${guard},`
  if (!isBlock(body)) closes.push({ at: body.end, text: ')' })
  return 0
}

function guardImport(node: Syntax, mayWait: boolean, context: Context): number {
  const source = node['source'] as Syntax
  context.opens.push({ at: node.start, text: `${context.names.load}(`, erase: source.start })
  return visit(source, mayWait, context)
}

function countSpreads(node: Syntax, { opens, names, spreads }: Context): void {
  for (const element of node['elements'] as readonly (Syntax | null)[]) {
    if (element?.type !== 'SpreadElement') continue
    spreads.add(element)
    opens.push({ at: (element['argument'] as Syntax).start, text: `${names.counted}(` })
  }
}

function refuseExplosive(node: Syntax): void {
  const { pattern, flags } = (node['regex'] ?? {}) as { readonly pattern?: string; readonly flags?: string }
  if (pattern !== undefined && hasCatastrophicBacktracking(pattern, flags?.includes('i')))
    throw new UnsupportedSyntax(`${slowPatternMessage(pattern)} (line ${lineOf(node)})`)
}

/** A program that ends with an expression has its value; a call of an async function is waited for that way. */
function returnLast(last: Syntax | undefined, { opens, closes }: Context): void {
  if (last?.type !== 'ExpressionStatement') return
  const expression = last['expression'] as Syntax
  opens.unshift({ at: expression.start, text: 'return (' })
  closes.push({ at: expression.end, text: ')' })
}

/** Closing texts come before opening ones at the same place; those of one kind in the order in which they were found. */
function edited(source: string, { opens, closes }: Context): string {
  const edits = [...closes, ...opens].map((edit, order) => ({ ...edit, order }))
  const inOrder = edits.toSorted((a, b) => a.at - b.at || a.order - b.order)
  let text = ''
  let from = 0
  for (const { at, text: added, erase } of inOrder) {
    text += source.slice(from, at) + added
    from = at
    if (erase === undefined) continue
    text += source.slice(at, erase).replace(/[^\n]/g, ' ')
    from = erase
  }
  return text + source.slice(from)
}
