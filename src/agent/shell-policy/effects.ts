/** Effects that the checks of operands share: reading, writing, and files that arrive without a name on the line. */

import type { Field } from '#agent/path-policy/field.ts'
import type { ReadKind } from '#agent/path-policy/judge-path.ts'
import { checkRead, checkWrite } from './check-paths.ts'
import type { Options } from './match-options.ts'
import type { Call } from './shell-state.ts'
import { recordWritten } from './simple-command.ts'

export type Check = (call: Call, options: Options) => void

export const reads = (call: Call, paths: readonly Field[], kind?: ReadKind): void => {
  for (const path of paths) checkRead(call, path, call.name, kind)
}
export const writes = (call: Call, paths: readonly Field[], verb?: string): void => {
  for (const path of paths) {
    checkWrite(call, path, call.name, verb)
    if (verb === undefined) recordWritten(call, path, undefined)
  }
}
export const valueOf = ({ values }: Options, ...names: readonly string[]): Field | undefined =>
  values.find(({ name }) => names.includes(name))?.value
export const has = ({ names }: Options, ...wanted: readonly string[]): boolean => wanted.some((name) => names.has(name))
export const arrive = (call: Call, kind: 'files' | 'downloads'): void => {
  if (call.judge.arrivals !== 'downloads') call.judge.arrivals = kind
}
