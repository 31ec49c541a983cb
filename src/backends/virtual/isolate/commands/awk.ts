/**
 * Adds pipes to awk (`print | "command"`), which just-bash lacks: the output goes to a file, which the command reads
 * after the program has ended.
 */

import { type Command, command, type Context, type ExecResult, originalCommand, readText } from './io.ts'

const pipePattern = /(\bprintf?\b(?:[^"|;{}\n]|"(?:[^"\\\n]|\\.)*"){0,150})\|\s*("(?:[^"\\\n]|\\.)*")/g

type ProgramWithoutPipes = {
  readonly program: string
  readonly commands: readonly string[]
  readonly files: readonly string[]
}

function withoutPipes(program: string): ProgramWithoutPipes {
  const commands: string[] = []
  const files: string[] = []
  const rewritten = program.replace(pipePattern, (whole, before: string, quoted: string) => {
    if (before.endsWith('|')) return whole
    const shellCommand = quoted.slice(1, -1).replace(/\\(.)/g, '$1')
    const index = commands.indexOf(shellCommand)
    const file = files[index] ?? `/tmp/.awk-${crypto.randomUUID()}`
    if (index < 0) {
      commands.push(shellCommand)
      files.push(file)
    }
    return `${before}> "${file}"`
  })
  return { program: rewritten, commands, files }
}

/** Replaces `-f file` by the text of the file. */
async function withProgram(args: readonly string[], context: Context): Promise<string[]> {
  const at = args.findIndex((arg, i) => arg.startsWith('-f') && !/^-[vF]$/.test(args[i - 1] ?? ''))
  if (at < 0) return [...args]
  const attached = (args[at] ?? '').slice(2)
  const program = await readText(context, attached || (args[at + 1] ?? '-'))
  const rest = args.slice(at + (attached ? 1 : 2))
  const operands = rest.findIndex((arg, i) => !arg.startsWith('-') && !/^-[vF]$/.test(rest[i - 1] ?? ''))
  const end = operands < 0 ? rest.length : operands
  return [...args.slice(0, at), ...rest.slice(0, end), program, ...rest.slice(end)]
}

async function run(originalArgs: string[], context: Context): Promise<ExecResult> {
  const args = await withProgram(originalArgs, context)
  const at = args.findIndex((arg, i) => !arg.startsWith('-') && !/^-[vF]$/.test(args[i - 1] ?? ''))
  const { program, commands, files } = withoutPipes(args[at] ?? '')
  if (commands.length === 0 || !context.exec) return originalCommand(context)(args)
  let result = await originalCommand(context)([...args.slice(0, at), program, ...args.slice(at + 1)])
  for (const [i, line] of commands.entries()) {
    const path = files[i] ?? ''
    if (!(await context.fs.exists(path))) continue
    const stdin = Buffer.from(await context.fs.readFileBuffer(path)).toString('latin1')
    await context.fs.rm(path, { force: true })
    const piped = await context.exec(line, { cwd: context.cwd, stdin, stdinKind: 'bytes' })
    result = { ...result, stdout: result.stdout + piped.stdout, stderr: result.stderr + piped.stderr }
  }
  return result
}

export const awk: Command = command('awk', run)
