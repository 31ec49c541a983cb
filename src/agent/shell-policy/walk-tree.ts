/**
 * Walks the syntax tree in the order in which a shell would run it. Where the path depends on a result, all paths are
 * walked and the possible values of variables are joined. Later commands are judged with every possible value.
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
import { anyText, anyWords, type Field } from './field.ts'
import { judgeSimpleCommand, judgeRedirections } from './simple-command.ts'
import {
  cloneShell,
  concatStreams,
  addFinding,
  joinShells,
  joinFiles,
  maxCandidates,
  type Body,
  type Judge,
  type Shell,
  type Stdin,
  type Stream,
} from './shell-state.ts'
import {
  expandText,
  expandWord,
  judgeArithmetic,
  judgeEvaluated,
  judgeSubscripts,
  getVariable,
  judgeInside,
  type Scope,
} from './expand-word.ts'

const maxRounds = 4

export function walkStatements(judge: Judge, statements: readonly Statement[], shell: Shell, stdin: Stdin): Stream {
  let output: Stream = ['']
  for (const statement of statements) {
    const stateOfStatement = statement.background ? cloneShell(shell) : shell
    output = concatStreams(output, walkNode({ judge, shell: stateOfStatement }, statement.command, stdin))
    if (statement.background) joinFiles(shell, stateOfStatement)
  }
  return output
}

export function walkNode(scope: Scope, node: PipelineNode | AndOr | Body, stdin: Stdin): Stream {
  if (--scope.judge.remainingSteps < 0) return 'unknown'
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
      return judgeSimpleCommand(scope, node, stdin)
    case 'Redirected':
      return walkRedirected(scope, node, stdin)
    case 'If':
      return walkIf(scope, node, stdin)
    case 'For':
    case 'Select':
      return walkFor(scope, node, stdin)
    case 'While':
      return walkLoop(
        scope,
        () => walkList(scope, node.clause, stdin),
        () => walkList(scope, node.body, stdin),
        node,
      )
    case 'Case':
      return walkCase(scope, node, stdin)
    case 'Function':
      defineFunction(scope, node)
      return ['']
    case 'Subshell':
      return inSubshell(scope, (inner) => walkList(inner, node.body, stdin))
    case 'BraceGroup':
      return walkList(scope, node.body, stdin)
    case 'Coproc':
      return walkCoproc(scope, node)
    default:
      return walkExpression(scope, node, stdin)
  }
}

function walkCoproc(scope: Scope, node: Coproc): Stream {
  if (node.name) scope.shell.vars.set(node.name.value, { candidates: [anyText] })
  return inSubshell(scope, (inner) => walkNode(inner, node.body, 'unknown'))
}

type Expression = CommandNode & { readonly type: 'TestCommand' | 'ArithmeticCommand' | 'ArithmeticFor' }

function walkExpression(scope: Scope, node: Expression, stdin: Stdin): Stream {
  if (node.type === 'TestCommand') judgeTest(scope, node.expression)
  else if (node.type === 'ArithmeticCommand') {
    if (node.expression) judgeArithmetic(scope, node.expression)
    else addFinding(scope.judge, 'ask', 'There is arithmetic that cannot be read')
  } else {
    for (const part of [node.initialize, node.test, node.update]) if (part) judgeArithmetic(scope, part)
    return walkLoop(
      scope,
      () => [''],
      () => walkList(scope, node.body, stdin),
      node,
    )
  }
  return ['']
}

const walkList = ({ judge, shell }: Scope, { commands }: CompoundList, stdin: Stdin): Stream =>
  walkStatements(judge, commands, shell, stdin)

const variableBefore = (scope: Scope) => (name: string) =>
  getVariable({ judge: scope.judge, shell: { ...scope.shell, vars: new Map() } }, name)

function inSubshell(scope: Scope, walk: (inner: Scope) => Stream): Stream {
  const shell = cloneShell(scope.shell)
  const output = walk({ judge: scope.judge, shell })
  joinFiles(scope.shell, shell)
  return output
}

/** Copying the state of a shell costs steps. */
const copyCost = ({ vars }: Shell): number => vars.size >> 3

/** Walks one of several branches on a copy of the state. */
function walkBranch(scope: Scope, walk: (inner: Scope) => Stream): Shell {
  scope.judge.remainingSteps -= copyCost(scope.shell)
  const shell = cloneShell(scope.shell)
  walk({ judge: scope.judge, shell })
  return shell
}

function walkAndOr(scope: Scope, node: AndOr, stdin: Stdin): Stream {
  const { judge, shell } = scope
  const [first, ...rest] = node.commands
  if (!first) return ['']
  let output = walkNode(scope, first, stdin)
  const current = cloneShell(shell)
  rest.forEach((command, i) => {
    const isAnd = node.operators[i] === '&&'
    if (isAnd && current.cwdAfterCd) current.cwd = current.cwdAfterCd
    if (!isAnd && current.cwdAfterCd && isExit(command)) shell.cwd = current.cwdAfterCd
    current.cwdAfterCd = undefined
    judge.remainingSteps -= copyCost(shell)
    const commandOutput = walkNode({ judge, shell: current }, command, stdin)
    if (output === 'unknown' || commandOutput === 'unknown' || commandOutput.some((text) => text !== ''))
      output = 'unknown'
    const cwdBefore = shell.cwd
    joinShells(shell, current, variableBefore(scope))
    if (!isAnd && isExit(command)) shell.cwd = cwdBefore
  })
  return output
}

const isExit = (command: PipelineNode): boolean =>
  command.type === 'Command' && (command.name?.text === 'exit' || command.name?.text === 'return')

function walkPipeline({ judge, shell }: Scope, node: Pipeline, stdin: Stdin): Stream {
  let input: Stdin = stdin
  let output: Stream = ['']
  for (const [i, command] of node.commands.entries()) {
    const stateOfStatement = node.commands.length > 1 ? cloneShell(shell) : shell
    output = walkNode({ judge, shell: stateOfStatement }, command, input)
    input = output
    if (stateOfStatement === shell) continue
    // With `lastpipe` the last command runs in the current shell.
    if (i === node.commands.length - 1) joinShells(shell, stateOfStatement, variableBefore({ judge, shell }))
    else joinFiles(shell, stateOfStatement)
  }
  return output
}

function walkRedirected(scope: Scope, node: Redirected, stdin: Stdin): Stream {
  const { input, target } = judgeRedirections(scope, node.redirects, stdin)
  const output = walkNode(scope, node.command, input)
  return target ? target(output) : output
}

function walkIf(scope: Scope, node: If, stdin: Stdin): Stream {
  walkList(scope, node.clause, stdin)
  const branches = [walkBranch(scope, (inner) => walkList(inner, node.then, stdin))]
  for (const { clause, then } of node.elif) {
    walkList(scope, clause, stdin)
    branches.push(walkBranch(scope, (inner) => walkList(inner, then, stdin)))
  }
  if (node.else) {
    const { else: otherwise } = node
    branches.push(walkBranch(scope, (inner) => walkList(inner, otherwise, stdin)))
    replaceByBranches(scope, branches)
  } else for (const branchShell of branches) joinShells(scope.shell, branchShell, variableBefore(scope))
  return 'unknown'
}

/** Replaces the state by the joined branches, because exactly one of them ran. */
function replaceByBranches(scope: Scope, branches: readonly Shell[]): void {
  const [first, ...others] = branches
  if (!first) return
  for (const branchShell of others) joinShells(first, branchShell, variableBefore(scope))
  const { shell } = scope
  shell.vars.clear()
  for (const [name, value] of first.vars) shell.vars.set(name, value)
  for (const [name, definition] of first.functions) shell.functions.set(name, definition)
  for (const [name, alias] of first.aliases) shell.aliases.set(name, alias)
  joinFiles(shell, first)
  shell.cwd = first.cwd
}

function walkFor(scope: Scope, node: For | Select, stdin: Stdin): Stream {
  const words = node.wordlist?.flatMap((word) => expandWord(scope, word).flat()) ?? scope.shell.positional ?? [anyWords]
  const values = words.map((word) => (word.includes(anyWords) ? anyText : word))
  const candidates = values.length > maxCandidates ? [anyText] : [...new Set(values)]
  const set = (): Stream => {
    scope.shell.vars.set(node.name.value, { candidates: candidates.length === 0 ? [anyText] : candidates })
    return ['']
  }
  return walkLoop(scope, set, () => walkList(scope, node.body, stdin), node)
}

/** Walks a body until no variable changes. A variable that still changes may hold anything. */
function walkLoop(scope: Scope, clause: () => Stream, body: () => Stream, node: { readonly pos: number }): Stream {
  const { shell, judge } = scope
  clause()
  for (let round = 0; round < maxRounds && judge.remainingSteps > 0; round++) {
    const previous = cloneShell(shell)
    judge.remainingSteps -= copyCost(shell)
    body()
    clause()
    const changedNames = listChanges(previous, shell)
    joinShells(shell, previous, variableBefore(scope))
    if (changedNames.length === 0 && hasSameCwd(previous.cwd, shell.cwd)) break
    const unstable = round === 1 ? changedNames.filter((name) => !isLoopVariable(node, name)) : []
    for (const name of unstable) shell.vars.set(name, { candidates: [anyText] })
  }
  return 'unknown'
}

const isLoopVariable = (node: { readonly pos: number; readonly name?: unknown }, name: string): boolean =>
  typeof node.name === 'object' && node.name !== null && 'value' in node.name && node.name.value === name

const hasSameCwd = (a: readonly Field[], b: readonly Field[]): boolean => a.length === b.length

function listChanges(previous: Shell, shell: Shell): readonly string[] {
  const names: string[] = []
  for (const [name, value] of shell.vars) {
    const earlier = previous.vars.get(name)
    if (earlier !== value && !(earlier && earlier.candidates.join('\0') === value.candidates.join('\0')))
      names.push(name)
  }
  return names
}

function walkCase(scope: Scope, node: Case, stdin: Stdin): Stream {
  expandWord(scope, node.word)
  const branches = node.items.map((item) => {
    for (const pattern of item.pattern) judgeInside(scope, pattern)
    return walkBranch(scope, (inner) => walkList(inner, item.body, stdin))
  })
  for (const branchShell of branches) joinShells(scope.shell, branchShell, variableBefore(scope))
  // With `;&` or `;;&` a body also runs after the previous one.
  if (node.items.some(({ terminator }) => terminator && terminator !== ';;'))
    for (const item of node.items)
      joinShells(
        scope.shell,
        walkBranch(scope, (inner) => walkList(inner, item.body, stdin)),
        variableBefore(scope),
      )
  return 'unknown'
}

function defineFunction({ judge, shell }: Scope, node: Definition): void {
  const name = node.name.value
  shell.functions.set(name, { bodies: [node.body], isCertain: true })
  if (isForkBomb(shell, name))
    addFinding(judge, 'hardline', `${name} starts itself again and again until the machine stops`)
}

/**
 * Whether a function calls itself, directly or not, in a pipe or in the background: the processes multiply without end.
 */
function isForkBomb({ functions }: Shell, name: string): boolean {
  const seen = new Set<string>()
  const searchNode = (node: object, isConcurrent: boolean): boolean => {
    const { type, background, name: nameNode } = node as CommandShape
    const callee = type === 'Command' ? (nameNode?.value ?? '') : ''
    if (callee === name && isConcurrent) return true
    const below = isConcurrent || background === true || type === 'Pipeline'
    if (callee !== '' && callee !== name && searchFunction(callee, isConcurrent)) return true
    return listUnconditionalParts(node).some(
      (child) => typeof child === 'object' && child !== null && searchNode(child, below),
    )
  }
  const searchFunction = (callee: string, isConcurrent: boolean): boolean => {
    const key = `${callee} ${isConcurrent}`
    if (seen.has(key)) return false
    seen.add(key)
    return functions.get(callee)?.bodies.some((body) => searchNode(body, isConcurrent)) === true
  }
  return searchFunction(name, false)
}

type CommandShape = {
  readonly type?: string
  readonly background?: boolean
  readonly name?: { readonly value: string }
}

/**
 * Lists the parts of a node that always run. A recursion under a condition may end, one without a condition does not.
 */
function listUnconditionalParts(part: object): readonly unknown[] {
  const node = part as CommandNode | AndOr
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
  commands.every(({ command }) => ['true', ':'].includes((command as CommandShape).name?.value ?? ''))

const arithmeticTests = new Set(['-eq', '-ne', '-lt', '-le', '-gt', '-ge'])

function judgeTest(scope: Scope, expression: TestExpression): void {
  switch (expression.type) {
    case 'TestUnary':
      for (const name of expandText(scope, expression.operand)) judgeTestedName(scope, expression.operator, name)
      return
    case 'TestBinary':
      for (const text of [expression.left, expression.right].flatMap((side) => expandText(scope, side)))
        if (arithmeticTests.has(expression.operator)) judgeEvaluated(scope, text, '[[')
      return
    case 'TestLogical':
      for (const operand of expression.operands) judgeTest(scope, operand)
      return
    case 'TestNot':
      judgeTest(scope, expression.operand)
      return
    case 'TestGroup':
      judgeTest(scope, expression.expression)
  }
}

function judgeTestedName(scope: Scope, operator: string, name: Field): void {
  if (operator !== '-v' && operator !== '-R') return
  judgeSubscripts(scope, name, '[[ -v')
  if (!/^\w+$/.test(name)) addFinding(scope.judge, 'ask', '[[ -v evaluates more than a name')
}
