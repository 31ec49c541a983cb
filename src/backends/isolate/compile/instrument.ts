/**
 * Inserts a guard into every loop and function, so that a program can be stopped and yields regularly. `tick()` counts
 * and throws after the end; in async code it is followed by a pause when it returns true. Line numbers stay the same.
 */

import { type Node, parse } from 'acorn'
import { hasCatastrophicBacktracking } from './catastrophic-backtracking.ts'
import { missingModuleMessage, slowPatternMessage } from './messages.ts'

/** A construct that is not supported, with its line. */
export class UnsupportedSyntax extends Error {}

type SourceEdit = { readonly at: number; text: string; readonly erase?: number }
const injectedNames = ['tick', 'pause', 'load', 'counted'] as const
type Names = Readonly<Record<(typeof injectedNames)[number], string>>

/** A syntax tree node with untyped fields, because the typed nodes are a union of a hundred types. */
type Syntax = Node & { readonly [field: string]: unknown }

type Instrumenting = {
  readonly source: string
  readonly names: Names
  readonly openings: SourceEdit[]
  readonly closings: SourceEdit[]
  readonly imports: string[]
  /** Spread elements of arrays, whose length is counted. */
  readonly spreads: Set<Syntax>
}

const loopTypes = /^(?:For|ForIn|ForOf|While|DoWhile)Statement$/
const functionTypes = /^(?:FunctionDeclaration|FunctionExpression|ArrowFunctionExpression)$/

/** Returns a module whose default export runs the program: `({tick, pause, load, counted}) => Promise<last value>`. */
export function instrument(source: string, importable: ReadonlySet<string>): string {
  const ast = parse(source, {
    ecmaVersion: 'latest',
    sourceType: 'module',
    allowReturnOutsideFunction: true,
    allowHashBang: true,
    locations: true,
    preserveParens: true,
  }) as unknown as Syntax
  const names = unusedNames(source)
  const context: Instrumenting = { source, names, openings: [], closings: [], imports: [], spreads: new Set() }
  const body = ast['body'] as readonly Syntax[]
  for (const statement of body) convertModuleSyntax(statement, context, importable)
  for (const statement of body) visit(statement, true, context)
  returnLast(body.at(-1), context)
  const head = `${context.imports.join('')}export default async ({${injectedNames.map((name) => `${name}:${names[name]}`).join()}})=>{`
  return `${head}${applyEdits(source.replace(/^#!/, '//'), context)}\n}`
}

function unusedNames(source: string): Names {
  let mark = '_'
  while (injectedNames.some((name) => source.includes(mark + name))) mark += '_'
  return Object.fromEntries(injectedNames.map((name) => [name, mark + name])) as Names
}

/** Moves allowed imports to the head of the module, and removes `export` before declarations. */
function convertModuleSyntax(node: Syntax, context: Instrumenting, importable: ReadonlySet<string>): void {
  if (node.type === 'ImportDeclaration') {
    const name = String((node['source'] as unknown as Syntax)['value'])
    const bare = name.replace(/^node:/, '')
    if (!importable.has(bare))
      throw new UnsupportedSyntax(`${missingModuleMessage(name, importable)} (line ${lineOf(node)})`)
    const text = context.source.slice(node.start, node.end)
    const from = text.lastIndexOf(name)
    context.imports.push(
      `${text.slice(0, from)}node:${bare}${text.slice(from + name.length)}`
        .split('\n')
        .map((line) => line.trim())
        .join(' ') + ';',
    )
    context.openings.push({ at: node.start, text: '', erase: node.end })
  } else if (node.type === 'ExportNamedDeclaration' && node['declaration']) {
    context.openings.push({ at: node.start, text: '', erase: (node['declaration'] as Syntax).start })
  } else if (node.type.startsWith('Export')) {
    throw new UnsupportedSyntax(`Exports are not supported (line ${lineOf(node)}). Print results with console.log.`)
  }
}

const lineOf = (node: Syntax): number => (node as unknown as { loc: { start: { line: number } } }).loc.start.line

/**
 * Estimated bytes that one evaluation of a node allocates, rather more than less: what is forgotten ends the runtime of all.
 * Loops and functions count their own contents each time.
 */
const estimatedBytes: Readonly<Record<string, number>> = {
  ObjectExpression: 56,
  ArrayExpression: 48,
  Property: 8,
  NewExpression: 48,
  TemplateLiteral: 32,
  ArrowFunctionExpression: 48,
  FunctionExpression: 48,
  ClassExpression: 200,
}

/** Whether a call extends a collection or text. */
function isGrowingCall(node: Syntax): boolean {
  const { property } = node['callee'] as Syntax & { readonly property?: { readonly name?: string } }
  return /^(?:push|unshift|set|add|append)$/.test(property?.name ?? '')
}

const bytesOf = (node: Syntax): number =>
  estimatedBytes[node.type] ?? (node.type === 'CallExpression' && isGrowingCall(node) ? 24 : 0)

/** `mayWait`: inside an async function or at the top level. Returns the estimated bytes. */
function visit(node: Syntax, mayWait: boolean, context: Instrumenting): number {
  if (loopTypes.test(node.type)) return guardLoop(node, mayWait, context)
  if (functionTypes.test(node.type)) return bytesOf(node) + guardFunction(node, context)
  if (node.type === 'ImportExpression') return guardImport(node, mayWait, context)
  if (node.type === 'ArrayExpression') countSpreads(node, context)
  if (node.type === 'Literal') rejectSlowPattern(node)
  const isInit = node.type === 'StaticBlock' || node.type === 'PropertyDefinition'
  const bytes = visitChildren(node, mayWait && !isInit, context)
  // After the closings inside of it.
  if (context.spreads.has(node)) context.closings.push({ at: node.end, text: ')' })
  return bytesOf(node) + bytes
}

function visitChildren(node: Syntax, mayWait: boolean, context: Instrumenting): number {
  let bytes = 0
  for (const child of getChildren(node)) bytes += visit(child, mayWait, context)
  return bytes
}

function* getChildren(node: Syntax): Generator<Syntax> {
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

function guardLoop(node: Syntax, mayWait: boolean, context: Instrumenting): number {
  const { openings, closings, names } = context
  const body = node['body'] as Syntax
  const open: SourceEdit = { at: isBlock(body) ? body.start + 1 : body.start, text: '' }
  // Before the openings that its body adds at the same position.
  openings.push(open)
  const bytes = visitChildren(node, mayWait, context)
  open.text = `${isBlock(body) ? '' : '{'}${tickOf(names, mayWait, bytes)};`
  if (!isBlock(body)) closings.push({ at: body.end, text: '}' })
  return 0
}

function guardFunction(node: Syntax, context: Instrumenting): number {
  const { openings, closings, names } = context
  const body = node['body'] as Syntax
  const mayWait = node['async'] === true
  // Default values of parameters cannot contain `await`.
  for (const parameter of node['params'] as readonly Syntax[]) visit(parameter, false, context)
  const open: SourceEdit = { at: isBlock(body) ? body.start + 1 : body.start, text: '' }
  openings.push(open)
  const guard = tickOf(names, mayWait, visit(body, mayWait, context))
  open.text = isBlock(body) ? `${guard};` : `(${guard},`
  if (!isBlock(body)) closings.push({ at: body.end, text: ')' })
  return 0
}

function guardImport(node: Syntax, mayWait: boolean, context: Instrumenting): number {
  const source = node['source'] as Syntax
  context.openings.push({ at: node.start, text: `${context.names.load}(`, erase: source.start })
  return visit(source, mayWait, context)
}

function countSpreads(node: Syntax, { openings, names, spreads }: Instrumenting): void {
  for (const element of node['elements'] as readonly (Syntax | null)[]) {
    if (element?.type !== 'SpreadElement') continue
    spreads.add(element)
    openings.push({ at: (element['argument'] as Syntax).start, text: `${names.counted}(` })
  }
}

function rejectSlowPattern(node: Syntax): void {
  const { pattern, flags } = (node['regex'] ?? {}) as { readonly pattern?: string; readonly flags?: string }
  if (pattern !== undefined && hasCatastrophicBacktracking(pattern, flags?.includes('i')))
    throw new UnsupportedSyntax(`${slowPatternMessage(pattern)} (line ${lineOf(node)})`)
}

/** Returns the value of a last expression, so that a final call of an async function is awaited. */
function returnLast(last: Syntax | undefined, { openings, closings }: Instrumenting): void {
  if (last?.type !== 'ExpressionStatement') return
  const expression = last['expression'] as Syntax
  openings.unshift({ at: expression.start, text: 'return (' })
  closings.push({ at: expression.end, text: ')' })
}

/** At the same position, closings come before openings; each kind keeps its order. */
function applyEdits(source: string, { openings, closings }: Instrumenting): string {
  const edits = [...closings, ...openings].map((edit, order) => ({ ...edit, order }))
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
