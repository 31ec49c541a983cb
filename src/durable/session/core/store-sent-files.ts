/** Stores files that a message brings to a chat in the workspace of its session. Loaded with the first of them. */

import { type Authority, holderOf } from '#agent/core/permission/authority.ts'
import { sha256Hex } from '#durable/platform/hash.ts'
import type { ChatNotice } from '#durable/tenant/jobs/session-port.ts'
import type { Session } from '../session.ts'
import { recordContribution } from './contributions.ts'
import { workspaceFiles } from './files.ts'

type SentFiles = { readonly key: string; readonly files: NonNullable<ChatNotice['files']> }

/** They lie below a folder of the message, so that a repetition writes the same ones. Returns their paths. */
export async function storeSentFiles(
  session: Session,
  by: Authority,
  { key, files }: SentFiles,
): Promise<readonly string[]> {
  const folder = `sent/${await sha256Hex(key, 8)}`
  const paths: string[] = []
  recordContribution(session, by, { isFile: true })
  for (const [at, { name, bytes }] of files.entries()) {
    const path = `${folder}/${at + 1}-${name}`
    const { kind } = await workspaceFiles(session, holderOf(by)).write(path, bytes)
    if (kind === 'written') paths.push(path)
  }
  return paths
}
