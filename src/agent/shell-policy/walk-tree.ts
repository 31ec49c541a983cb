/**
 * Walks the syntax tree in the order in which a shell would run it and judges every argument vector. Where the path
 * depends on a result, all paths are walked and the possible values of variables are joined.
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
import { anyText, anyWords } from '#agent/path-policy/field.ts'
import { expandText, expandWord, judgeEvaluated, judgeExpression, judgeInside } from './expansion/expand-word.ts'
import { isForkBomb } from './fork-bomb.ts'
import {
  addFinding,
  addLiteral,
  walkAlternatives,
  type Body,
  type CommandOutput,
  type JudgeScope,
} from './shell-state.ts'
import { judgeRedirections, setVariable, walkSimpleCommand } from './simple-command.ts'

const maxRounds = 4
const maxOutputChars = 40_000

const concat = (a: CommandOutput, b: CommandOutput): CommandOutput =>
  a === undefined || b === undefined || a.length + b.length > maxOutputChars ? undefined : a + b

export function walkStatements(
  scope: JudgeScope,
  statements: readonly Statement[],
  stdin: CommandOutput,
): CommandOutput {
  let output: CommandOutput = ''
  for (const { command, background } of statements) {
    if (background) walkAlternatives(scope, [() => walkNode(scope, command, stdin)], true)
    else output = concat(output, walkNode(scope, command, stdin))
  }
  return output
}

export function walkNode(scope: JudgeScope, node: PipelineNode | AndOr | Body, stdin: CommandOutput): CommandOutput {
  if (--scope.judge.remainingSteps < 0) return undefined
  switch (node.type) {
    case 'AndOr':
      return walkAndOr(scope, node, stdin)
    case 'Pipeline':
      return walkPipeline(scope, node, stdin)
    case 'CompoundList':
      return walkStatements(scope, node.commands, stdin)
    default:
      return walkCommand(scope, node, stdin)
  }
}

const walkList = (scope: JudgeScope, { commands }: CompoundList, stdin: CommandOutput): CommandOutput =>
  walkStatements(scope, commands, stdin)

function walkCommand(scope: JudgeScope, node: CommandNode, stdin: CommandOutput): CommandOutput {
  switch (node.type) {
    case 'Command':
      return walkSimpleCommand(scope, node, stdin)
    case 'Redirected':
      return walkRedirected(scope, node, stdin)
    case 'If':
      return walkIf(scope, node, stdin)
    case 'For':
    case 'Select':
      return walkFor(scope, node, stdin)
    case 'Case':
      return walkCase(scope, node, stdin)
    case 'Function':
      return defineFunction(scope, node)
    case 'Subshell':
      return walkSubshell(scope, node.body, stdin)
    case 'BraceGroup':
      return walkList(scope, node.body, stdin)
    default:
      return walkOther(scope, node, stdin)
  }
}

type OtherNode = CommandNode & {
  readonly type: 'While' | 'Coproc' | 'TestCommand' | 'ArithmeticCommand' | 'ArithmeticFor'
}

function walkOther(scope: JudgeScope, node: OtherNode, stdin: CommandOutput): CommandOutput {
  switch (node.type) {
    case 'While':
      return walkLoop(scope, () => {
        walkList(scope, node.clause, stdin)
        walkList(scope, node.body, stdin)
      })
    case 'Coproc':
      return walkCoproc(scope, node)
    case 'TestCommand':
      judgeTest(scope, node.expression)
      return ''
    case 'ArithmeticCommand':
      judgeExpression(scope, node.expression)
      return ''
    case 'ArithmeticFor':
      for (const part of [node.initialize, node.test, node.update]) if (part) judgeExpression(scope, part)
      return walkLoop(scope, () => walkList(scope, node.body, stdin))
  }
}

function walkSubshell(scope: JudgeScope, body: CompoundList, stdin: CommandOutput): CommandOutput {
  const { vars, cwd } = scope.shell
  scope.shell.vars = new Map(vars)
  scope.judge.remainingSteps -= vars.size >> 3
  const output = walkList(scope, body, stdin)
  scope.shell.vars = vars
  scope.shell.cwd = cwd
  return output
}

function walkCoproc(scope: JudgeScope, node: Coproc): CommandOutput {
  if (node.name) setVariable(scope, node.name.value, [anyText], false)
  walkAlternatives(scope, [() => walkNode(scope, node.body, undefined)], true)
  return undefined
}

const isExit = (command: PipelineNode): boolean =>
  command.type === 'Command' && /^(exit|return)$/.test(command.name?.text ?? '')

function walkAndOr(scope: JudgeScope, node: AndOr, stdin: CommandOutput): CommandOutput {
  const { shell } = scope
  const [first, ...rest] = node.commands
  if (!first) return ''
  const before = shell.cwd
  shell.cwdAfterCd = undefined
  const outputs = [walkNode(scope, first, stdin)]
  rest.forEach((command, i) => {
    const isAnd = node.operators[i] === '&&'
    const afterCd = shell.cwdAfterCd
    shell.cwdAfterCd = undefined
    // After `cd x &&` and `cd x || exit` the directory is known.
    if (afterCd && isAnd) shell.cwd = afterCd
    walkAlternatives(scope, [() => outputs.push(walkNode(scope, command, stdin))], true)
    if (afterCd && !isAnd && isExit(command)) shell.cwd = afterCd
  })
  const alwaysChanges = node.operators.every((operator, i) => operator === '||' && isExit(rest[i] ?? first))
  if (!alwaysChanges) shell.cwd = [...new Set([...shell.cwd, ...before])]
  shell.cwdAfterCd = undefined
  const [only, ...others] = outputs
  return others.every((text) => text === '') ? only : undefined
}

function walkPipeline(scope: JudgeScope, node: Pipeline, stdin: CommandOutput): CommandOutput {
  const [only, ...more] = node.commands
  if (only && more.length === 0) return walkNode(scope, only, stdin)
  let input = stdin
  node.commands.forEach((command, i) => {
    const isLast = i === node.commands.length - 1
    const stage = isLast ? scope : { ...scope, captured: true }
    walkAlternatives(scope, [() => (input = walkNode(stage, command, input))], true)
  })
  return input
}

function walkIf(scope: JudgeScope, node: If, stdin: CommandOutput): CommandOutput {
  walkList(scope, node.clause, stdin)
  for (const { clause } of node.elif) walkList(scope, clause, stdin)
  const bodies = [node.then, ...node.elif.map(({ then }) => then), ...(node.else ? [node.else] : [])]
  walkAlternatives(
    scope,
    bodies.map((body) => () => walkList(scope, body, stdin)),
    !node.else,
  )
  return undefined
}

function walkCase(scope: JudgeScope, node: Case, stdin: CommandOutput): CommandOutput {
  expandText(scope, node.word)
  for (const { pattern } of node.items) for (const word of pattern) judgeInside(scope, word)
  const branches = node.items.map(
    ({ body }) =>
      () =>
        walkList(scope, body, stdin),
  )
  walkAlternatives(scope, branches, true)
  // With `;&` or `;;&` a body also runs after another one.
  if (node.items.some(({ terminator }) => terminator && terminator !== ';;')) walkAlternatives(scope, branches, true)
  return undefined
}

function walkFor(scope: JudgeScope, node: For | Select, stdin: CommandOutput): CommandOutput {
  const words = node.wordlist?.flatMap((word) => expandWord(scope, word).flat()) ?? [anyWords]
  for (const word of words) addLiteral(scope.judge, word)
  const values = [...new Set(words.map((word) => (word.includes(anyWords) ? anyText : word)))]
  const candidates = values.length === 0 || values.length > 24 ? [anyText] : values
  return walkLoop(scope, () => {
    setVariable(scope, node.name.value, candidates, false)
    walkList(scope, node.body, stdin)
  })
}

/** Walks a body until no variable changes. A variable that still changes may hold anything. */
function walkLoop(scope: JudgeScope, body: () => unknown): CommandOutput {
  const { shell, judge } = scope
  for (let round = 0; round < maxRounds && judge.remainingSteps > 0; round++) {
    const before = { vars: shell.vars, cwd: shell.cwd }
    walkAlternatives(scope, [body], true)
    const changed = [...shell.vars].filter(([name, { candidates }]) => {
      const earlier = before.vars.get(name)
      return earlier?.candidates.join('\0') !== candidates.join('\0')
    })
    if (changed.length === 0 && before.cwd.length === shell.cwd.length) break
    if (round === 1) for (const [name] of changed) shell.vars.set(name, { candidates: [anyText] })
  }
  return undefined
}

function defineFunction(scope: JudgeScope, { name: { value: name }, body }: Definition): CommandOutput {
  scope.shell.functions.set(name, body)
  if (isForkBomb(scope.shell, name))
    addFinding(scope.judge, 'hardline', `${name} starts itself again and again until the machine stops`)
  // The shell or another program may call it later.
  if (/^(command_not_found_handle|cd|exec|command|builtin|trap|eval|exit|echo|test|\[)$/.test(name))
    addFinding(scope.judge, 'ask', `A function takes the place of ${name}`)
  walkAlternatives(scope, [() => scope.judge.walkBody(scope, body, undefined)], true)
  return ''
}

function walkRedirected(scope: JudgeScope, node: Redirected, stdin: CommandOutput): CommandOutput {
  const { input, isWriting, write } = judgeRedirections(scope, node.redirects, stdin)
  return write(walkNode(isWriting ? { ...scope, captured: true } : scope, node.command, input))
}

const arithmeticTests = new Set(['-eq', '-ne', '-lt', '-le', '-gt', '-ge'])

function judgeTest(scope: JudgeScope, expression: TestExpression): void {
  switch (expression.type) {
    case 'TestUnary':
      judgeUnaryTest(scope, expression.operator, expandText(scope, expression.operand))
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

/** `[[ -v` evaluates subscripts of a name. */
function judgeUnaryTest(scope: JudgeScope, operator: string, names: readonly string[]): void {
  if (operator !== '-v' && operator !== '-R') return
  for (const name of names) if (!/^\w+$/.test(name)) judgeEvaluated(scope, `${name}[`, '[[ -v')
}
