/**
 * Judges the files that an answer gives to the user as calls of read_file, after links. Nobody is asked: a file whose
 * reading would need approval is left out, and the answer says why.
 */

import type { ExecutionBackend } from '#agent/core/backend.ts'
import type { Settings } from '#agent/core/settings.ts'
import { decideApproval } from '#agent/policy/approval/approval.ts'
import type { SessionMetadata } from '#durable/storage/session-metadata.ts'
import type { SessionStore } from '#durable/storage/store.ts'
import { createApprovalPolicy } from '#durable/turn/approval-policy.ts'
import { assessReads } from '#tools/assess-paths.ts'

export type AttachmentSession = {
  readonly settings: Settings
  readonly meta: SessionMetadata
  readonly store: Pick<SessionStore, 'current'>
  readonly toolRuntime: { readonly backend: ExecutionBackend }
}

/** Returns why a file is not attached, in words for the reader of the answer, or undefined. */
export async function findAttachmentProblem(session: AttachmentSession, path: string): Promise<string | undefined> {
  const { settings, meta, store, toolRuntime } = session
  const turn = store.current()
  const { backend } = toolRuntime
  const policy = createApprovalPolicy(settings, meta, turn, { maxRisk: turn?.options.authority?.maxRisk })
  const ruling = decideApproval(
    {
      callId: '',
      tool: 'read_file',
      toolset: 'file',
      input: { path },
      risk: 'read',
      assessment: await assessReads([path], backend),
      location: `${backend.kind} ${backend.resolve('.')}`,
    },
    { ...policy, mode: policy.mode === 'off' ? 'off' : 'manual' },
  )
  return ruling.do === 'run' ? undefined : `${path} is not attached: ${ruling.decision.reason}.`
}
