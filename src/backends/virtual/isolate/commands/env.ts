/** Implements env: `env A=1 command`, `env -i`, `env -u NAME`. */

import { type Command, command, type CommandContext, type ExecResult, quote } from './io.ts'

type EnvOptions = {
  readonly clear: boolean
  readonly set: Record<string, string>
  readonly drop: string[]
  next: number
}

function parseArguments(args: readonly string[]): EnvOptions {
  const options: EnvOptions = { clear: args[0] === '-i' || args[0] === '-', set: {}, drop: [], next: 0 }
  for (; options.next < args.length; options.next++) {
    const arg = args[options.next] ?? ''
    const pair = /^([A-Za-z_]\w*)=(.*)$/s.exec(arg)
    if (arg === '-u') options.drop.push(args[++options.next] ?? '')
    else if (pair) options.set[pair[1] ?? ''] = pair[2] ?? ''
    else if (arg !== '-i' && arg !== '-') break
  }
  return options
}

async function run(args: string[], context: CommandContext): Promise<ExecResult> {
  const { clear, set, drop, next } = parseArguments(args)
  const inherited = clear ? {} : { ...context.exportedEnv }
  for (const name of drop) delete inherited[name]
  const all: Record<string, string> = { ...inherited, ...set }
  if (next >= args.length) {
    const lines = Object.entries(all).map(([name, value]) => `${name}=${value}\n`)
    return { stdout: lines.join(''), stderr: '', exitCode: 0, stdoutKind: 'text' }
  }
  if (!context.exec) throw new Error('env needs a shell to run commands in')
  const line = args.slice(next).map(quote).join(' ')
  const exports = Object.entries(all).map(([name, value]) => `export ${name}=${quote(value)}; `)
  const path = all['PATH'] ?? '/usr/bin:/bin'
  return context.exec(exports.join('') + line, {
    cwd: context.cwd,
    replaceEnv: true,
    env: { PATH: path, IFS: ' \t\n' },
    stdin: String(context.stdin),
    stdinKind: 'bytes',
    ...(context.signal && { signal: context.signal }),
  })
}

export const env: Command = command('env', run)
