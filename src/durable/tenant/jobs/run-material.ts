/** Gathers what the prompt of a run is made of: outputs of other jobs, of its script and of what it monitors. */

import { blockFindings } from '#agent/untrusted/injection-scan.ts'
import { fenceUntrusted } from '#agent/untrusted/fence.ts'
import type { JobPlan } from '#agent/schedule/job/job.ts'
import { type Material, renderRunPrompt } from '#agent/schedule/job/run-prompt.ts'
import { diffTexts } from '#agent/schedule/job/text-diff.ts'
import type { GuardedFetch } from '#durable/platform/guarded-fetch.ts'
import type { JobRows } from './job-rows.ts'
import type { JobRun } from './run-rows.ts'

/** Text that the material was made of, as strangers may have written it: directives in it are removed. */
export const renderPrompt = (prompt: string, material: Material): string =>
  renderRunPrompt(prompt, material, (text, source) =>
    fenceUntrusted(blockFindings(text), { source, nonce: crypto.randomUUID().replaceAll('-', '').slice(0, 16) }),
  )

/** The last outputs of the jobs that a job reads. `self` and continuity are its own. */
export function listContexts(
  jobs: JobRows,
  jobId: string,
  { contextFrom, isContinuous }: JobPlan,
): Material['contexts'] {
  const own = isContinuous || contextFrom.includes('self') ? [jobId] : []
  const others = contextFrom.filter((reference) => reference !== 'self')
  return [...own, ...others].map((reference) => {
    const job = (jobs.get(reference) ?? jobs.findByName(reference))?.job
    return {
      job: job?.plan.name ?? reference,
      ...(job?.lastOutput !== undefined && { output: job.lastOutput }),
    }
  })
}

const maxMonitoredBytes = 256 * 1024
const monitorTimeoutMs = 30_000
/** Characters that are kept to compare the next time. */
const maxSeenChars = 64_000

/** Reads the address of a monitor. Rejects for an address that is refused, does not answer or answers with an error. */
export async function readAddress(guardedFetch: GuardedFetch, url: string): Promise<string> {
  const { response } = await guardedFetch({
    url,
    follow: true,
    timeoutMs: monitorTimeoutMs,
    maxBytes: maxMonitoredBytes,
  })
  if (response.ok) return response.text()
  await response.body?.cancel()
  throw new Error(`${new URL(url).host} answered with status ${response.status}.`)
}

export type Seen = NonNullable<JobRun['seen']>

/** Compares with the last time. Undefined: unchanged. The first look counts as a change. */
export async function compareSeen(
  text: string,
  before: Seen | undefined,
): Promise<{ readonly seen: Seen; readonly diff?: string } | undefined> {
  const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text))
  const hash = [...new Uint8Array(digest)].map((byte) => byte.toString(16).padStart(2, '0')).join('')
  if (before?.hash === hash) return undefined
  const seen = { hash, text: text.slice(0, maxSeenChars) }
  if (!before) return { seen }
  return { seen, diff: diffTexts(before.text, seen.text) || 'The change is beyond the part that is compared.' }
}
