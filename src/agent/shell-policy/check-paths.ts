/** Asks about paths of a command by the path policy, for every directory in which the command may run. */

import { isGlob, renderField, type Field } from '#agent/path-policy/field.ts'
import {
  findReadProblem,
  findWriteProblem,
  getZone,
  resolvePath,
  type ReadKind,
} from '#agent/path-policy/judge-path.ts'
import { isDisk, isPowerSwitch } from '#agent/path-policy/vital-paths.ts'
import { addFinding, type Scope } from './shell-state.ts'

export const resolvePaths = ({ shell }: Pick<Scope, 'shell'>, path: Field): readonly Field[] =>
  shell.cwd.map((cwd) => resolvePath(path, cwd))

export type Role = {
  readonly subject: string
  readonly rule?: string | undefined
  /** The alternative to suggest when secrets are in the way. */
  readonly advice?: string
}

const toRole = (role: Role | string): Role => (typeof role === 'string' ? { subject: role } : role)

export function checkRead(scope: Scope, path: Field, role: Role | string, kind?: ReadKind): void {
  const { subject, rule, advice } = toRole(role)
  scope.judge.readsMany ||= kind === 'tree' || isGlob(path)
  if (isGlob(path)) scope.judge.remainingSteps -= path.length >> 3
  for (const resolved of resolvePaths(scope, path)) {
    // Under an unknown directory the name alone is judged.
    const known = resolved.startsWith('/') ? resolved : path
    const problem = findReadProblem(known, scope.judge.host, known === resolved ? kind : 'name')
    if (problem === undefined) continue
    const isContaining = advice !== undefined && scope.judge.host.secretFiles !== undefined
    const reason = `${subject} reads ${renderField(path)}, ${problem}${isContaining ? `; ${advice}` : ''}`
    addFinding(scope.judge, 'ask', reason, rule)
    return
  }
}

export function checkWrite(scope: Scope, path: Field, role: Role | string, verb = 'write'): void {
  const { subject, rule } = toRole(role)
  for (const resolved of resolvePaths(scope, path)) {
    const text = `${subject} would ${verb} ${renderField(path)}`
    const problem = findWriteProblem(resolved, scope.judge.host)
    if (isDisk(resolved)) addFinding(scope.judge, 'hardline', `${text}, a device of the machine`)
    else if (isPowerSwitch(resolved)) addFinding(scope.judge, 'hardline', `${text}, which stops the machine`)
    else if (problem !== undefined) addFinding(scope.judge, 'ask', `${text}, ${problem}`, rule)
  }
}

/** Asks when the current directory may be outside the workspace. */
export const isOutsideWorkspace = ({ shell, judge: { host } }: Scope): boolean =>
  shell.cwd.some((cwd) => {
    const zone = getZone(cwd, host)
    return zone !== 'inside' && zone !== 'temporary' && !(zone === 'trusted' && isGlob(cwd))
  })
