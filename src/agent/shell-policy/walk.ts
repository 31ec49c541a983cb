/**
 * Walks the syntax tree in the order in which a shell would run it. Where the way depends on how something ends, both
 * ways are walked and what a variable may hold is joined: a later command is judged with every possible value.
 */

import type {
  AndOr,
  Case,
  CommandNode,
  CompoundList,
  Coproc,
  For,
  Function as Definition,
  If,
  Pipeline,
  PipelineNode,
  Redirected,
  Select,
  Statement,
  TestExpression,
} from 'unbash'
import { ANY, SPLIT, type Field } from './marks.ts'
import { runSimple, redirected } from './simple.ts'
import {
  clone,
  concat,
  finding,
  join,
  joinFiles,
  MAX_CANDIDATES,
  type Body,
  type Judge,
  type Shell,
  type Stdin,
  type Stream,
} from './shell.ts'
import {
  expandText,
  expandWord,
  judgeArithmetic,
  judgeEvaluated,
  judgeSubscripts,
  valueOf,
  visit,
  type Scope,
} from './word.ts'

const MAX_ROUNDS = 4

export function walkStatements(judge: Judge, statements: readonly Statement[], shell: Shell, stdin: Stdin): Stream {
  let output: Stream = ['']
  for (const statement of statements) {
    const own = statement.background ? clone(shell) : shell
    output = concat(output, walkNode({ judge, shell: own }, statement.command, stdin))
    if (statement.background) joinFiles(shell, own)
  }
  return output
}

export function walkNode(scope: Scope, node: PipelineNode | AndOr | Body, stdin: Stdin): Stream {
  if (--scope.judge.steps < 0) return 'unknown'
  switch (node.type) {
    case 'AndOr':
      return walkAndOr(scope, node, stdin)
    case 'Pipeline':
      return walkPipeline(scope, node, stdin)
    case 'CompoundList':
      return walkStatements(scope.judge, node.commands, scope.shell, stdin)
    default:
      return walkCommand(scope, node, stdin)
  }
}

function walkCommand(scope: Scope, node: CommandNode, stdin: Stdin): Stream {
  switch (node.type) {
    case 'Command':
      return runSimple(scope, node, stdin)
    case 'Redirected':
      return walkRedirected(scope, node, stdin)
    case 'If':
      return walkIf(scope, node, stdin)
    case 'For':
    case 'Select':
      return walkFor(scope, node, stdin)
    case 'While':
      return loop(
        scope,
        () => list(scope, node.clause, stdin),
        () => list(scope, node.body, stdin),
        node,
      )
    case 'Case':
      return walkCase(scope, node, stdin)
    case 'Function':
      define(scope, node)
      return ['']
    case 'Subshell':
      return inSubshell(scope, (inner) => list(inner, node.body, stdin))
    case 'BraceGroup':
      return list(scope, node.body, stdin)
    case 'Coproc':
      return walkCoproc(scope, node)
    default:
      return walkExpression(scope, node, stdin)
  }
}

function walkCoproc(scope: Scope, node: Coproc): Stream {
  if (node.name) scope.shell.vars.set(node.name.value, { candidates: [ANY] })
  return inSubshell(scope, (inner) => walkNode(inner, node.body, 'unknown'))
}

type Expression = CommandNode & { readonly type: 'TestCommand' | 'ArithmeticCommand' | 'ArithmeticFor' }

function walkExpression(scope: Scope, node: Expression, stdin: Stdin): Stream {
  if (node.type === 'TestCommand') test(scope, node.expression)
  else if (node.type === 'ArithmeticCommand') {
    if (node.expression) judgeArithmetic(scope, node.expression)
    else finding(scope.judge, 'ask', 'There is arithmetic that cannot be read')
  } else {
    for (const part of [node.initialize, node.test, node.update]) if (part) judgeArithmetic(scope, part)
    return loop(
      scope,
      () => [''],
      () => list(scope, node.body, stdin),
      node,
    )
  }
  return ['']
}

const list = ({ judge, shell }: Scope, { commands }: CompoundList, stdin: Stdin): Stream =>
  walkStatements(judge, commands, shell, stdin)

const before = (scope: Scope) => (name: string) =>
  valueOf({ judge: scope.judge, shell: { ...scope.shell, vars: new Map() } }, name)

function inSubshell(scope: Scope, walk: (inner: Scope) => Stream): Stream {
  const shell = clone(scope.shell)
  const output = walk({ judge: scope.judge, shell })
  joinFiles(scope.shell, shell)
  return output
}

/** What it costs to keep two states of a shell apart. */
const weight = ({ vars }: Shell): number => vars.size >> 3

/** One road of several: what it does may or may not have happened afterwards. */
function branch(scope: Scope, walk: (inner: Scope) => Stream): Shell {
  scope.judge.steps -= weight(scope.shell)
  const shell = clone(scope.shell)
  walk({ judge: scope.judge, shell })
  return shell
}

function walkAndOr(scope: Scope, node: AndOr, stdin: Stdin): Stream {
  const { judge, shell } = scope
  const [first, ...rest] = node.commands
  if (!first) return ['']
  let output = walkNode(scope, first, stdin)
  const current = clone(shell)
  rest.forEach((command, i) => {
    const and = node.operators[i] === '&&'
    if (and && current.moved) current.cwd = current.moved
    if (!and && current.moved && leaves(command)) shell.cwd = current.moved
    current.moved = undefined
    judge.steps -= weight(shell)
    const said = walkNode({ judge, shell: current }, command, stdin)
    if (output === 'unknown' || said === 'unknown' || said.some((text) => text !== '')) output = 'unknown'
    const stays = shell.cwd
    join(shell, current, before(scope))
    if (!and && leaves(command)) shell.cwd = stays
  })
  return output
}

const leaves = (command: PipelineNode): boolean =>
  command.type === 'Command' && (command.name?.text === 'exit' || command.name?.text === 'return')

function walkPipeline({ judge, shell }: Scope, node: Pipeline, stdin: Stdin): Stream {
  let flowing: Stdin = stdin
  let output: Stream = ['']
  for (const [i, command] of node.commands.entries()) {
    const own = node.commands.length > 1 ? clone(shell) : shell
    output = walkNode({ judge, shell: own }, command, flowing)
    flowing = output
    if (own === shell) continue
    // With `lastpipe` the last one runs in this very shell.
    if (i === node.commands.length - 1) join(shell, own, before({ judge, shell }))
    else joinFiles(shell, own)
  }
  return output
}

function walkRedirected(scope: Scope, node: Redirected, stdin: Stdin): Stream {
  const { input, target } = redirected(scope, node.redirects, stdin)
  const output = walkNode(scope, node.command, input)
  return target ? target(output) : output
}

function walkIf(scope: Scope, node: If, stdin: Stdin): Stream {
  list(scope, node.clause, stdin)
  const roads = [branch(scope, (inner) => list(inner, node.then, stdin))]
  for (const { clause, then } of node.elif) {
    list(scope, clause, stdin)
    roads.push(branch(scope, (inner) => list(inner, then, stdin)))
  }
  if (node.else) {
    const { else: otherwise } = node
    roads.push(branch(scope, (inner) => list(inner, otherwise, stdin)))
    settle(scope, roads)
  } else for (const road of roads) join(scope.shell, road, before(scope))
  return 'unknown'
}

/** Exactly one of the roads was taken. */
function settle(scope: Scope, roads: readonly Shell[]): void {
  const [first, ...others] = roads
  if (!first) return
  for (const road of others) join(first, road, before(scope))
  const { shell } = scope
  shell.vars.clear()
  for (const [name, value] of first.vars) shell.vars.set(name, value)
  for (const [name, definition] of first.functions) shell.functions.set(name, definition)
  for (const [name, alias] of first.aliases) shell.aliases.set(name, alias)
  joinFiles(shell, first)
  shell.cwd = first.cwd
}

function walkFor(scope: Scope, node: For | Select, stdin: Stdin): Stream {
  const words = node.wordlist?.flatMap((word) => expandWord(scope, word).flat()) ?? scope.shell.positional ?? [SPLIT]
  const values = words.map((word) => (word.includes(SPLIT) ? ANY : word))
  const candidates = values.length > MAX_CANDIDATES ? [ANY] : [...new Set(values)]
  const set = (): Stream => {
    scope.shell.vars.set(node.name.value, { candidates: candidates.length === 0 ? [ANY] : candidates })
    return ['']
  }
  return loop(scope, set, () => list(scope, node.body, stdin), node)
}

/** Walks a body until nothing new can be in a variable; what still changes then may be anything. */
function loop(scope: Scope, clause: () => Stream, body: () => Stream, node: { readonly pos: number }): Stream {
  const { shell, judge } = scope
  clause()
  for (let round = 0; round < MAX_ROUNDS && judge.steps > 0; round++) {
    const earlier = clone(shell)
    judge.steps -= weight(shell)
    body()
    clause()
    const changed = changes(earlier, shell)
    join(shell, earlier, before(scope))
    if (changed.length === 0 && sameCwd(earlier.cwd, shell.cwd)) break
    const lost = round === 1 ? changed.filter((name) => !isLoopVariable(node, name)) : []
    for (const name of lost) shell.vars.set(name, { candidates: [ANY] })
  }
  return 'unknown'
}

const isLoopVariable = (node: { readonly pos: number; readonly name?: unknown }, name: string): boolean =>
  typeof node.name === 'object' && node.name !== null && 'value' in node.name && node.name.value === name

const sameCwd = (a: readonly Field[], b: readonly Field[]): boolean => a.length === b.length

function changes(earlier: Shell, shell: Shell): readonly string[] {
  const names: string[] = []
  for (const [name, value] of shell.vars) {
    const was = earlier.vars.get(name)
    if (was !== value && !(was && was.candidates.join('\0') === value.candidates.join('\0'))) names.push(name)
  }
  return names
}

function walkCase(scope: Scope, node: Case, stdin: Stdin): Stream {
  expandWord(scope, node.word)
  const roads = node.items.map((item) => {
    for (const pattern of item.pattern) visit(scope, pattern)
    return branch(scope, (inner) => list(inner, item.body, stdin))
  })
  for (const road of roads) join(scope.shell, road, before(scope))
  // A body that falls through runs after the one before it.
  if (node.items.some(({ terminator }) => terminator && terminator !== ';;'))
    for (const item of node.items)
      join(
        scope.shell,
        branch(scope, (inner) => list(inner, item.body, stdin)),
        before(scope),
      )
  return 'unknown'
}

function define({ judge, shell }: Scope, node: Definition): void {
  const name = node.name.value
  shell.functions.set(name, { bodies: [node.body], certain: true })
  if (multiplies(shell, name))
    finding(judge, 'hardline', `${name} starts itself again and again until the machine stops`)
}

/** Whether a function comes back to itself, over others too, by way of a pipe or the background: it never ends and grows. */
function multiplies({ functions }: Shell, name: string): boolean {
  const seen = new Set<string>()
  const search = (node: object, apart: boolean): boolean => {
    const { type, background, name: called } = node as Called
    const callee = type === 'Command' ? (called?.value ?? '') : ''
    if (callee === name && apart) return true
    const below = apart || background === true || type === 'Pipeline'
    if (callee !== '' && callee !== name && follow(callee, apart)) return true
    return certainParts(node).some((child) => typeof child === 'object' && child !== null && search(child, below))
  }
  const follow = (callee: string, apart: boolean): boolean => {
    const key = `${callee} ${apart}`
    if (seen.has(key)) return false
    seen.add(key)
    return functions.get(callee)?.bodies.some((body) => search(body, apart)) === true
  }
  return follow(name, false)
}

type Called = { readonly type?: string; readonly background?: boolean; readonly name?: { readonly value: string } }

/** What of a node runs in any case: a function that walks a tree by way of itself ends, one without a condition does not. */
function certainParts(given: object): readonly unknown[] {
  const node = given as CommandNode | AndOr
  switch (node.type) {
    case 'If':
      return isTrue(node.clause) ? [node.clause, node.then] : [node.clause]
    case 'While':
      return isTrue(node.clause) ? [node.clause, node.body] : [node.clause]
    case 'For':
      return node.wordlist?.every(({ parts }) => !parts) ? [node.body] : []
    case 'Case':
      return []
    case 'AndOr': {
      const end = node.commands.findIndex(
        (command, i) => node.operators[i] !== '&&' || !isTrue({ commands: [{ command }] }),
      )
      return node.commands.slice(0, end + 1)
    }
    default:
      return Object.values(node)
  }
}

const isTrue = ({ commands }: { readonly commands: readonly { readonly command: object }[] }): boolean =>
  commands.every(({ command }) => ['true', ':'].includes((command as Called).name?.value ?? ''))

const ARITHMETIC_TESTS = new Set(['-eq', '-ne', '-lt', '-le', '-gt', '-ge'])

function test(scope: Scope, expression: TestExpression): void {
  switch (expression.type) {
    case 'TestUnary':
      for (const name of expandText(scope, expression.operand)) testedName(scope, expression.operator, name)
      return
    case 'TestBinary':
      for (const text of [expression.left, expression.right].flatMap((side) => expandText(scope, side)))
        if (ARITHMETIC_TESTS.has(expression.operator)) judgeEvaluated(scope, text, '[[')
      return
    case 'TestLogical':
      for (const operand of expression.operands) test(scope, operand)
      return
    case 'TestNot':
      test(scope, expression.operand)
      return
    case 'TestGroup':
      test(scope, expression.expression)
  }
}

function testedName(scope: Scope, operator: string, name: Field): void {
  if (operator !== '-v' && operator !== '-R') return
  judgeSubscripts(scope, name, '[[ -v')
  if (!/^\w+$/.test(name)) finding(scope.judge, 'ask', '[[ -v evaluates a name that is more than a name')
}
