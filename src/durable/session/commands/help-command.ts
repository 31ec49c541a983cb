/** `/help`: lists the commands that the caller may use, or explains one. */

import { type CommandSpec, commandTable, findCommand, renderUsage } from '#agent/policy/slash-command/command-table.ts'
import type { Session } from '../session.ts'
import { type CommandCall, type CommandHandler, reply } from './command.ts'
import { mayUse } from './may-use.ts'

export const helpCommand: CommandHandler = (session, call) => reply(renderHelp(session, call))

function renderHelp(session: Session, call: CommandCall): string {
  const [asked] = call.words
  const one = asked === undefined ? undefined : findCommand(asked.replace(/^\//, '').toLowerCase().replaceAll('_', '-'))
  if (one) return renderCommand(one)
  const table: readonly CommandSpec[] = commandTable
  const usable = table.filter((command) => !command.isHidden && mayUse(session, command, call))
  return usable.map(renderLine).join('\n')
}

const renderLine = (command: CommandSpec): string => `${renderUsage(command)} – ${command.description}`

const busyNotes = {
  dispatch: 'works while a turn runs',
  interrupt: 'stops the turn that runs',
  wait: 'counts from the next turn or model call on',
  refuse: 'not while a turn runs',
} as const

function renderCommand(command: CommandSpec): string {
  const { aliases = [], busy } = command
  const also = aliases.length ? `\nAlso: ${aliases.map((name) => `/${name}`).join(', ')}` : ''
  return `${renderLine(command)}${also}\n(${busyNotes[busy]})`
}
