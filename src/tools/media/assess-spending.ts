/** Assesses paid calls: limits and roles bound what they cost, so that no person is asked each time. */

import type { Assessment } from '../../agent/model/permission/approval.ts'
import type { ExecutionBackend } from '../../agent/model/backend.ts'
import { assessReads } from '../assess-paths.ts'

export const isAddress = (source: string): boolean => /^[A-Za-z][A-Za-z0-9+.-]{1,30}:/.test(source)

/** Files of the workspace that a call sends are judged like files that it reads. */
export function assessSpending(text: string, sources: readonly string[], backend: ExecutionBackend): Assessment {
  const paths = sources.filter((source) => !isAddress(source))
  const reads = assessReads(paths, backend)
  return {
    ...reads,
    subjects: [text.slice(0, 2_000), ...sources.filter(isAddress), ...reads.subjects],
    ...(reads.verdict === 'allow' && { rule: '*' }),
  }
}
