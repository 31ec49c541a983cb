/**
 * Judges the files that an answer gives to the user as calls of read_file, after links. Nobody is asked: a file that the
 * turn may not read, or whose reading would need approval, is left out, and the answer says why.
 */

import type { ExecutionBackend } from '#agent/core/backend.ts'
import type { Access } from '#agent/core/permission/access.ts'
import type { Authority } from '#agent/core/permission/authority.ts'
import { othersLimit } from '#agent/core/permission/lost-rights.ts'
import { narrowByRoles } from '#agent/core/permission/roles.ts'
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
  readonly tenant: { readonly access: Access }
  readonly toolRuntime: {
    readonly backend: ExecutionBackend
    readonly toolbox: (settings: Settings, scope: Partial<Authority>) => { readonly has: (tool: string) => boolean }
    readonly offers: (tool: string, settings: Settings, scope: Partial<Authority>) => boolean
    readonly paidMedia: { readonly isMade: (path: string) => boolean }
  }
}

/** Media that tools of the session have made are there. A turn that reads no files may give them to the user. */
const mediaFolder = 'media'
const reader = 'read_file'
/** They can put any file of the workspace into the folder. */
const movers = ['terminal', 'process', 'execute_code', 'patch'] as const

/** Returns why a file is not attached, in words for the reader of the answer, or undefined. */
export async function findAttachmentProblem(session: AttachmentSession, path: string): Promise<string | undefined> {
  const { settings, meta, store, toolRuntime } = session
  const turn = store.current()
  const { backend } = toolRuntime
  const authority = turn?.options.authority
  const held = authority && narrowByRoles(authority, session.tenant.access.roles)
  const tools = toolRuntime.toolbox(settings, held ?? {})
  if (!tools.has(reader) && !isMedia(toolRuntime, path, tools))
    return `${path} is not attached: ${explainReaders(session, held)}.`
  const policy = createApprovalPolicy(settings, meta, turn, { maxRisk: held?.maxRisk })
  const ruling = decideApproval(
    {
      callId: '',
      tool: reader,
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

function isMedia(
  { backend, paidMedia }: AttachmentSession['toolRuntime'],
  path: string,
  tools: { readonly has: (tool: string) => boolean },
): boolean {
  const [resolved, root] = [backend.resolve(path), `${backend.resolve('.')}/`]
  if (!resolved.startsWith(`${root}${mediaFolder}/`)) return false
  return paidMedia.isMade(resolved.slice(root.length)) || !movers.some((tool) => tools.has(tool))
}

function explainReaders({ settings, toolRuntime }: AttachmentSession, held: Authority | undefined): string {
  const own = held?.withoutOthers
  const isLost = own !== undefined && toolRuntime.offers(reader, settings, own)
  return isLost ? othersLimit : 'this conversation may not read files'
}
