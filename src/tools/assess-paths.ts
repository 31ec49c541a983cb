/** Assesses the paths of file tools by the path policy that also judges commands. */

import {
  findReadProblem,
  findWriteProblem,
  isSecretPath,
  type PathScope,
  secretGlobs,
} from '#agent/path-policy/judge-path.ts'
import type { Assessment } from '#agent/core/permission/approval.ts'
import { BackendError, type ExecutionBackend } from '#agent/core/backend.ts'
import { assessByRisk } from '#agent/policy/approval/approval.ts'

const maxSecretFiles = 1_000

/** Lists the files below a path that may hold secrets. Returns undefined when the host cannot tell. */
export async function listSecretFiles(
  backend: ExecutionBackend,
  root: string = backend.capabilities.root,
): Promise<readonly string[] | undefined> {
  const query = { target: 'files', path: root, offset: 0, limit: maxSecretFiles } as const
  try {
    const results = await Promise.all(secretGlobs.map((pattern) => backend.files.search({ ...query, pattern })))
    return [...new Set(results.flatMap(({ hits }) => hits.map(({ path }) => path)))].filter(isSecretPath)
  } catch (error) {
    if (error instanceof BackendError) return undefined
    throw error
  }
}

type Find = (path: string, scope: PathScope) => string | undefined

function assess(risk: 'read' | 'write', paths: readonly string[], backend: ExecutionBackend, find: Find): Assessment {
  const scope = { workspace: backend.capabilities.root }
  const reasons = paths.flatMap((path) => {
    const problem = find(backend.resolve(path), scope)
    return problem === undefined ? [] : [`it would ${risk} ${path}, ${problem}`]
  })
  const subjects = paths.flatMap((path) => [path, backend.resolve(path)])
  const { rule, ...assessment } = assessByRisk(risk, subjects)
  if (reasons.length === 0) return { ...assessment, ...(rule !== undefined && { rule }) }
  const [only, ...more] = paths
  // “Always” covers exactly this file.
  const own = more.length === 0 && only !== undefined ? { rule: backend.resolve(only) } : {}
  return { ...assessment, verdict: 'ask', reasons, ...own }
}

export const assessReads = (paths: readonly string[], backend: ExecutionBackend): Assessment =>
  assess('read', paths, backend, (path, scope) => findReadProblem(path, scope))

export const assessWrites = (paths: readonly string[], backend: ExecutionBackend): Assessment =>
  assess('write', paths, backend, findWriteProblem)

/** A search leaves out files with secrets, unless its path is one. So only the path itself is judged. */
export const assessSearch = (path: string, backend: ExecutionBackend): Assessment =>
  assess('read', [path], backend, (resolved, scope) => findReadProblem(resolved, scope, 'tree'))
