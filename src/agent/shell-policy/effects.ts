/** Effects that the checks of operands share: reading, writing, and files that arrive without a name on the line. */

import type { Field } from '#agent/path-policy/field.ts'
import type { ReadKind } from '#agent/path-policy/judge-path.ts'
import { checkRead, checkWrite } from './check-paths.ts'
import type { CommandOptions } from './match-options.ts'
import type { SimpleCommand } from './shell-state.ts'
import { recordWritten } from './simple-command.ts'

export type CommandCheck = (call: SimpleCommand, options: CommandOptions) => void

export const reads = (call: SimpleCommand, paths: readonly Field[], kind?: ReadKind): void => {
  for (const path of paths) checkRead(call, path, call.name, kind)
}
export const writes = (call: SimpleCommand, paths: readonly Field[], verb?: string): void => {
  for (const path of paths) {
    checkWrite(call, path, call.name, verb)
    if (verb === undefined) recordWritten(call, path, undefined)
  }
}
export const valueOf = ({ values }: CommandOptions, ...names: readonly string[]): Field | undefined =>
  values.find(({ name }) => names.includes(name))?.value
export const has = ({ names }: CommandOptions, ...wanted: readonly string[]): boolean =>
  wanted.some((name) => names.has(name))
export const arrive = (call: SimpleCommand, kind: 'files' | 'downloads'): void => {
  if (call.judge.arrivals !== 'downloads') call.judge.arrivals = kind
}
