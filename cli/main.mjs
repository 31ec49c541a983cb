/** Runs one command of the command line. Each command is a file that is loaded when it is used. */

import { parseArgs } from 'node:util'
import { ApiError } from '../bin/lib/api.mjs'
import { commands, usage } from './commands.mjs'
import { exits, Failure, UsageError } from './exits.mjs'
import { note, plain, print } from './output.mjs'
import { readVersion } from './version.mjs'

/** Resolves to the exit code. */
export async function main(args) {
  // A write that fails rejects nothing: the stream says so, also after the last line.
  process.stdout.on('error', (error) => process.exit(report(error)))
  // Notes that nobody reads must not end what stdout still gets.
  process.stderr.on('error', () => {})
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
  const isTerminal = process.stdin.isTTY && process.stdout.isTTY && process.env.TERM !== 'dumb'
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
  const end = args.indexOf('--')
  if (args.slice(0, end < 0 ? args.length : end).includes('--help')) return help(name)
  const { load, usage: line, options = {}, words } = commands[name]
  const { values, positionals } = parse(args, options, line)
  for (const [option, { choices }] of Object.entries(options))
    if (choices && values[option] !== undefined && !choices.includes(values[option]))
      throw new UsageError(`--${option} is one of ${choices.join(', ')}, not "${plain(values[option])}".`)
  if (!fits(positionals, words)) throw new UsageError(`talaria ${line}`)
  const command = await load()
  return (await command.run({ options: values, words: positionals, usage: line })) ?? exits.done
}

/** A word too many may be a second name that would be left out without a word. `*` is any first word that is no action. */
function fits(given, words) {
  const [action = 'ls', ...rest] = given
  const isList = Array.isArray(words)
  const [least, most] = isList ? words : ((Object.hasOwn(words, action) ? words[action] : words['*']) ?? [1, 0])
  const count = isList ? given.length : rest.length
  return count >= least && count <= most
}

/** Texts like "- an item" and "-5" are no options. Node would refuse them, so they are marked while it reads. */
const textLike = /^-(?![a-z-]|$)|^--(?![a-z]|$)/i
const mark = '\u0000'
const unmark = (value) => (typeof value === 'string' && value.startsWith(mark) ? value.slice(1) : value)

function parse(args, options, line) {
  try {
    const { values, positionals } = parseArgs({
      args: args.map((arg) => (textLike.test(arg) ? mark + arg : arg)),
      options: { json: { type: 'boolean' }, ...options },
      allowPositionals: true,
    })
    return {
      values: Object.fromEntries(
        Object.entries(values).map(([name, value]) => [name, Array.isArray(value) ? value.map(unmark) : unmark(value)]),
      ),
      positionals: positionals.map(unmark),
    }
  } catch (error) {
    throw new UsageError(`${error.message.replaceAll(mark, '')}\n\ntalaria ${line}`)
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
