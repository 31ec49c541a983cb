/** Assesses paid calls: limits and roles bound what they cost, so that no person is asked each time. */

import type { Assessment } from '#agent/core/permission/approval.ts'
import type { ExecutionBackend } from '#agent/core/backend.ts'
import { assessReads } from '../assess-paths.ts'
import { assessSecrets } from '../web/assess-secrets.ts'

/** Models write the mark of attachments before paths and addresses, and it is no part of them. */
export const withoutMark = (source: string): string => source.replace(/^MEDIA:\s?/, '')

export const isAddress = (source: string): boolean => /^[A-Za-z][A-Za-z0-9+.-]{1,30}:/.test(source)

/** Files of the workspace that a call sends are judged like files that it reads, addresses like those of web tools. */
export async function assessSpending(
  text: string,
  given: readonly string[],
  backend: ExecutionBackend,
): Promise<Assessment> {
  const sources = given.map(withoutMark)
  const [addresses, paths] = [sources.filter(isAddress), sources.filter((source) => !isAddress(source))]
  const [reads, secrets] = [await assessReads(paths, backend), assessSecrets(addresses, 'an address')]
  const subjects = [text.slice(0, 2_000), ...addresses, ...reads.subjects]
  if (secrets.verdict === 'ask') return { verdict: 'ask', reasons: [...secrets.reasons, ...reads.reasons], subjects }
  return { ...reads, subjects, ...(reads.verdict === 'allow' && { rule: '*' }) }
}
