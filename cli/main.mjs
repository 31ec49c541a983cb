/** Runs one command of the command line. Each command is a file that is loaded when it is used. */

import { parseArgs } from 'node:util'
import { ApiError } from '../bin/lib/api.mjs'
import { commands, usage } from './commands.mjs'
import { exits, Failure, UsageError } from './exits.mjs'
import { note, print } from './output.mjs'
import { readVersion } from './version.mjs'

/** Resolves to the exit code. */
export async function main(args) {
  // A write that fails rejects nothing: the stream says so, also after the last line.
  process.stdout.on('error', (error) => process.exit(report(error)))
  try {
    return await dispatch(args)
  } catch (error) {
    return report(error)
  }
}

async function dispatch([first, ...rest]) {
  if (first === '-z') return run('chat', ['--final', ...rest])
  if (['--version', '-V'].includes(first)) return printVersion()
  if (isScreen(first)) return run('screen', first === undefined ? [] : [first, ...rest])
  if (['help', '--help', '-h'].includes(first)) return help(rest[0])
  if (!Object.hasOwn(commands, first)) throw new UsageError(`There is no command "${first}".\n\n${usage}`)
  return run(first, rest)
}

/** Alone on a terminal, or with its options, it is the full-screen chat. */
function isScreen(first) {
  const isTerminal = process.stdin.isTTY && process.stdout.isTTY
  if (first === undefined && !isTerminal) throw new UsageError(usage)
  return isTerminal && (first === undefined || /^(?:-s|-m|--session|--model|--last)(?:=|$)/.test(first))
}

function printVersion() {
  print(readVersion())
  return exits.done
}

function help(name) {
  print(name !== undefined && Object.hasOwn(commands, name) ? `talaria ${commands[name].usage}` : usage)
  return exits.done
}

async function run(name, args) {
  if (args.includes('--help')) return help(name)
  const { load, usage: line, options = {} } = commands[name]
  const { values, positionals } = parse(args, options, line)
  const command = await load()
  return (await command.run({ options: values, words: positionals, usage: line })) ?? exits.done
}

function parse(args, options, line) {
  try {
    return parseArgs({ args, options: { json: { type: 'boolean' }, ...options }, allowPositionals: true })
  } catch (error) {
    throw new UsageError(`${error.message}\n\ntalaria ${line}`)
  }
}

function report(error) {
  // Files and folders that cannot be read or written.
  const isKnown = [UsageError, ApiError, Failure].some((kind) => error instanceof kind) || error?.syscall !== undefined
  // A reader like `head` has read enough.
  if (error?.code === 'EPIPE') return exits.done
  if (!isKnown) throw error
  note(error.message)
  if (error instanceof UsageError) return exits.usage
  return error.status === 401 || error.status === 403 ? exits.access : exits.failed
}
