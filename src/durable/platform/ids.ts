/** Creates the ids that the API shows, and finds the session of a run by its id. Clients treat ids as opaque. */

import { runSuffix } from '#agent/core/session-name.ts'

const randomHex = (): string => crypto.randomUUID().replaceAll('-', '')

export const newSessionId = (): string => `ses_${randomHex()}`
/** Of a fence around untrusted text. */
export const newNonce = (): string => randomHex().slice(0, 16)
export const newMemoryWriteId = (): string => `mem_${randomHex()}`
export const newCredentialId = (): string => `cred_${randomHex()}`
export const newHookId = (): string => `hook_${randomHex()}`
export const newJobId = (): string => randomHex().slice(0, 12)
export const newBatchId = (): string => `batch_${randomHex()}`
export const newJobRunId = (): string => `jobrun_${randomHex()}`

/** Characters of a run id that differ between the runs of a session. */
const uniqueChars = 16
const runPattern = /^run_[0-9a-f]{16}(?:([0-9a-f]{32})|_([A-Za-z0-9_.:-]{1,128}))$/

/** The id contains the session's, so that no table has to map runs to sessions. `unique`: hexadecimal digits. */
export const newRunId = (sessionId: string, unique: string = randomHex()): string =>
  `run_${unique.slice(0, uniqueChars)}${runSuffix(sessionId)}`

/** Undefined for a malformed id. The session need not exist. */
export function sessionOfRun(runId: string): string | undefined {
  const [, generated, named] = runPattern.exec(runId) ?? []
  return generated === undefined ? named : `ses_${generated}`
}
