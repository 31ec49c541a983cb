/** Makes bash and sh accept options before the script, as `set` statements. */

import { type Command, command, type CommandContext, type ExecResult, originalCommand, pathIn } from './io.ts'

type ShellInvocation = {
  readonly settings: readonly string[]
  readonly inline: boolean
  readonly rest: readonly string[]
}

function parseArguments(args: readonly string[]): ShellInvocation {
  const settings: string[] = []
  for (let i = 0; i < args.length; i++) {
    const arg = args[i] ?? ''
    if (arg === '-o') settings.push(`set -o ${args[++i] ?? ''}`)
    else if (/^-[a-z]+$/.test(arg)) {
      const letters = arg.replace(/[-cils]/g, '')
      if (letters !== '') settings.push(`set -${letters}`)
      if (arg.includes('c')) return { settings, inline: true, rest: args.slice(i + 1) }
    } else if (!arg.startsWith('--')) return { settings, inline: false, rest: args.slice(i) }
  }
  return { settings, inline: false, rest: [] }
}

async function run(args: string[], context: CommandContext): Promise<ExecResult> {
  const { settings, inline, rest } = parseArguments(args)
  const [script, ...others] = rest
  if (inline) return originalCommand(context)(['-c', [...settings, script ?? ''].join('\n'), ...others])
  if (settings.length === 0 || script === undefined)
    return originalCommand(context)(script === undefined ? [] : [...rest])
  const path = pathIn(context, script)
  if (!(await context.fs.exists(path))) return originalCommand(context)([...rest])
  return originalCommand(context)(['-c', `${settings.join('\n')}\n${await context.fs.readFile(path)}`, ...rest])
}

export const shellCommands: readonly Command[] = [command('bash', run), command('sh', run)]
