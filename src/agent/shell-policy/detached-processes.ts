/** Finds commands that would not end with their call, from the syntax tree. */

import { forEachChild, parse, type Command, type ParsedScript, type SyntaxNode } from 'unbash'

const detachedReason = 'nohup, setsid and disown have no effect here: the command ends with this call. Run it plainly.'
const backgroundReason = 'A trailing & does not keep a command running here. Run it plainly, or end with wait.'
const serverReason = 'This command does not end by itself and would only time out. Run something that finishes.'

type CommandTraits = { detached: boolean; background: boolean; waits: boolean; isServer: boolean }

const findTraits = (command: string): CommandTraits => {
  const traits: CommandTraits = { detached: false, background: false, waits: false, isServer: false }
  visitNode(parse(command), traits, false)
  return traits
}

/** Whether a process would keep running after the command line ends. */
export function leavesProcesses(command: string): boolean {
  const { detached, background, waits } = findTraits(command)
  return detached || (background && !waits)
}

/** Returns why a command may not run in the foreground, or undefined. */
export function findForegroundProblem(command: string): string | undefined {
  const traits = findTraits(command)
  if (traits.detached) return detachedReason
  if (traits.background && !traits.waits) return backgroundReason
  return traits.isServer ? serverReason : undefined
}

/** A server in the background is reported for its `&`, not as a server. */
function visitNode(node: SyntaxNode | ParsedScript, traits: CommandTraits, isInBackground: boolean): void {
  const background = node.type === 'Statement' && node.background === true
  if (background) traits.background = true
  if (node.type === 'Command') recordCommand(node, traits, isInBackground)
  forEachChild(node, (child) => visitNode(child, traits, isInBackground || background))
}

const wrapperNames = new Set(['env', 'npx', 'exec', 'command', 'time', 'sudo', 'nice'])

function recordCommand(command: Command, traits: CommandTraits, isInBackground: boolean): void {
  const [program = '', ...args] = unwrapCommand(command)
  const name = program.split('/').at(-1) ?? ''
  if (name === 'nohup' || name === 'setsid' || name === 'disown') traits.detached = true
  else if (name === 'wait') traits.waits = true
  else if (!isInBackground && isServer(name, args)) traits.isServer = true
}

/** Removes wrappers in front of the started program. */
function unwrapCommand(command: Command): readonly string[] {
  const words = [command.name, ...command.suffix].flatMap((word) => (word?.type === 'Word' ? [word.value] : []))
  while (wrapperNames.has(words[0] ?? '')) {
    words.shift()
    while (/^-|^\w+=/.test(words[0] ?? '')) words.shift()
  }
  return words
}

const scriptRunners = new Set(['npm', 'pnpm', 'yarn', 'bun'])
const servingScripts = new Set(['dev', 'start', 'serve', 'watch'])
const serverNames = new Set(['nodemon', 'webpack-dev-server', 'uvicorn', 'gunicorn', 'watch'])
const servingCommands: Readonly<Record<string, readonly string[]>> = {
  next: ['dev', 'start'],
  flask: ['run'],
  rails: ['server', 's'],
}

function isServer(name: string, args: readonly string[]): boolean {
  const [first = ''] = args
  if (args.some((arg) => /^--(help|version)$/.test(arg))) return false
  if (scriptRunners.has(name)) return servingScripts.has(args.find((arg) => arg !== 'run') ?? '')
  if (name === 'vite') return !/^(build|optimize)$/.test(first)
  if (name === 'tail') return args.some((arg) => /^-(-follow|[a-zA-Z]*[fF])/.test(arg))
  if (name.startsWith('python')) return first === '-m' && args[1] === 'http.server'
  return serverNames.has(name) || (servingCommands[name]?.includes(first) ?? false)
}
