/** Commands that would go on after the terminal has answered, and what to do instead. Told from the syntax tree. */

import { forEachChild, parse, type Command, type ParsedScript, type SyntaxNode } from 'unbash'

const DETACHED = 'nohup, setsid and disown have no effect here: the command ends with this call. Run it plainly.'
const BACKGROUND = 'A trailing & does not keep a command running here. Run it plainly, or end with wait.'
const SERVER = 'This command does not end by itself and would only time out. Run something that finishes.'

type Seen = { detached: boolean; background: boolean; waits: boolean; serves: boolean }

const seenIn = (command: string): Seen => {
  const seen: Seen = { detached: false, background: false, waits: false, serves: false }
  look(parse(command), seen, false)
  return seen
}

/** It would leave something running behind its own end, wherever it runs. */
export function leaves(command: string): boolean {
  const { detached, background, waits } = seenIn(command)
  return detached || (background && !waits)
}

/** Why a command may not run in the foreground, or undefined when it may. */
export function detaches(command: string): string | undefined {
  const seen = seenIn(command)
  if (seen.detached) return DETACHED
  if (seen.background && !seen.waits) return BACKGROUND
  return seen.serves ? SERVER : undefined
}

/** What runs in the background may serve for ever: it is told about the `&`, not about the server. */
function look(node: SyntaxNode | ParsedScript, seen: Seen, apart: boolean): void {
  const background = node.type === 'Statement' && node.background === true
  if (background) seen.background = true
  if (node.type === 'Command') note(node, seen, apart)
  forEachChild(node, (child) => look(child, seen, apart || background))
}

/** Programs that only start another one. */
const BEFORE = new Set(['env', 'npx', 'exec', 'command', 'time', 'sudo', 'nice'])

function note(command: Command, seen: Seen, apart: boolean): void {
  const [program = '', ...args] = inner(command)
  const name = program.split('/').at(-1) ?? ''
  if (name === 'nohup' || name === 'setsid' || name === 'disown') seen.detached = true
  else if (name === 'wait') seen.waits = true
  else if (!apart && serves(name, args)) seen.serves = true
}

/** The words of the program that is started in the end. */
function inner(command: Command): readonly string[] {
  const words = [command.name, ...command.suffix].flatMap((word) => (word?.type === 'Word' ? [word.value] : []))
  while (BEFORE.has(words[0] ?? '')) {
    words.shift()
    while (/^-|^\w+=/.test(words[0] ?? '')) words.shift()
  }
  return words
}

const RUNNERS = new Set(['npm', 'pnpm', 'yarn', 'bun'])
const SCRIPTS = new Set(['dev', 'start', 'serve', 'watch'])
const SERVERS = new Set(['nodemon', 'webpack-dev-server', 'uvicorn', 'gunicorn', 'watch'])
const WITH_COMMAND: Readonly<Record<string, readonly string[]>> = {
  next: ['dev', 'start'],
  flask: ['run'],
  rails: ['server', 's'],
}

function serves(name: string, args: readonly string[]): boolean {
  const [first = ''] = args
  if (args.some((arg) => /^--(help|version)$/.test(arg))) return false
  if (RUNNERS.has(name)) return SCRIPTS.has(args.find((arg) => arg !== 'run') ?? '')
  if (name === 'vite') return !/^(build|optimize)$/.test(first)
  if (name === 'tail') return args.some((arg) => /^-(-follow|[a-zA-Z]*[fF])/.test(arg))
  if (name.startsWith('python')) return first === '-m' && args[1] === 'http.server'
  return SERVERS.has(name) || (WITH_COMMAND[name]?.includes(first) ?? false)
}
