/** Asks about paths of a command by the path policy, for every directory in which the command may run. */

import { isGlob, isUnknown, renderField, type Field } from '#agent/path-policy/field.ts'
import {
  findReadProblem,
  findWriteProblem,
  getZone,
  resolvePath,
  type ReadKind,
} from '#agent/path-policy/judge-path.ts'
import { followLinks } from '#agent/path-policy/links.ts'
import { runLater } from '#agent/path-policy/path-lists.ts'
import { isDisk, isPowerSwitch } from '#agent/path-policy/vital-paths.ts'
import { findNamedSecret } from './listings.ts'
import { addFinding, type JudgeScope } from './shell-state.ts'

/** Returns the paths that a word may stand for, after links. `keepsLast`: the last name is not followed. */
export function resolvePaths({ shell, judge }: JudgeScope, path: Field, keepsLast = false): readonly Field[] {
  if (judge.links.size === 0) return shell.cwd.map((cwd) => resolvePath(path, cwd))
  judge.remainingSteps -= judge.links.size >> 8
  return [...new Set(shell.cwd.flatMap((cwd) => followLinks(path, cwd, judge.links, keepsLast)))]
}

export type PathRole = {
  readonly subject: string
  readonly rule?: string | undefined
  /** The alternative to suggest when secrets are in the way. */
  readonly advice?: string
}

const toRole = (role: PathRole | string): PathRole => (typeof role === 'string' ? { subject: role } : role)

export function checkRead(scope: JudgeScope, path: Field, role: PathRole | string, kind?: ReadKind): void {
  const { subject, rule, advice } = toRole(role)
  scope.judge.readsMany ||= kind === 'tree' || isGlob(path)
  if (isGlob(path)) scope.judge.remainingSteps -= path.length >> 3
  const secret = isUnknown(path) && kind !== 'name' ? findNamedSecret(scope, path, kind ?? 'content') : undefined
  const problem = secret === undefined ? findFirstProblem(scope, path, kind) : `which may be ${secret}`
  if (problem === undefined) return
  const isContaining = advice !== undefined && scope.judge.host.secretFiles !== undefined
  const reason = `${subject} reads ${renderField(path)}, ${problem}${isContaining ? `; ${advice}` : ''}`
  addFinding(scope.judge, 'ask', reason, rule)
}

/** Whether the line has unpacked the files of this path before, without their names on the line. */
const isUnpacked = ({ judge }: JudgeScope, path: Field): boolean =>
  judge.unpacked.some((directory) => path.startsWith(`${directory}/`))

function findFirstProblem(scope: JudgeScope, path: Field, kind: ReadKind | undefined): string | undefined {
  for (const resolved of resolvePaths(scope, path)) {
    // Under an unknown directory the name alone is judged.
    const known = resolved.startsWith('/') ? resolved : path
    const problem = findReadProblem(known, scope.judge.host, known === resolved ? kind : 'name')
    if (problem !== undefined) return problem
    if (kind !== 'name' && isUnpacked(scope, resolved)) return 'which may be a link that this line unpacks'
  }
  return undefined
}

export function checkWrite(scope: JudgeScope, path: Field, role: PathRole | string, verb = 'write'): void {
  const { subject, rule } = toRole(role)
  for (const resolved of resolvePaths(scope, path, verb === 'remove' || verb === 'move')) {
    const text = `${subject} would ${verb} ${renderField(path)}`
    // Its content runs later, with the rights of the person.
    if (runLater.test(resolved)) scope.judge.hasUnknownCode = true
    const problem = findWriteProblem(resolved, scope.judge.host)
    if (isDisk(resolved)) addFinding(scope.judge, 'hardline', `${text}, a device of the machine`)
    else if (isPowerSwitch(resolved)) addFinding(scope.judge, 'hardline', `${text}, which stops the machine`)
    else if (problem !== undefined) addFinding(scope.judge, 'ask', `${text}, ${problem}`, rule)
    else if (isUnpacked(scope, resolved))
      addFinding(scope.judge, 'ask', `${text}, through what this line unpacks`, rule)
  }
}

/** Asks when the current directory may be outside the workspace. */
export const isOutsideWorkspace = ({ shell, judge: { host } }: JudgeScope): boolean =>
  shell.cwd.some((cwd) => {
    const zone = getZone(cwd, host)
    return zone !== 'inside' && zone !== 'temporary' && !(zone === 'trusted' && isGlob(cwd))
  })
