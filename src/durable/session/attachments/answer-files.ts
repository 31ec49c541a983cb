/** Lists the files that an ended run gives to the user, with links that work for an hour. */

import { BackendError } from '#agent/core/backend.ts'
import { mediaTypeOf } from '#agent/core/media/media-type.ts'
import { type AnswerFile, findAttachmentPaths } from '#agent/public-api/answer-attachments.ts'
import { clock } from '#durable/platform/clock.ts'
import { createLink } from '#durable/platform/signed-links.ts'
import type { RunView } from '../api-views.ts'
import type { Session } from '../session.ts'

/** Adds the files to a run that has ended. A run that names none needs no request to its backend. */
export async function withAnswerFiles(session: Session, env: Env, run: RunView): Promise<RunView> {
  if (run.exit_reason === null) return run
  const messages = session.journal.entriesOfRun(run.run_id).map(({ message }) => message)
  const paths = findAttachmentPaths(messages)
  if (!paths.length) return run
  const found = await Promise.all(paths.map((path) => describeFile(session, env, path)))
  const files = found.filter((file) => file !== undefined)
  return { ...run, attachments: [...new Map(files.map((file) => [file.path, file])).values()] }
}

/** Undefined for a path that is no file of the workspace, or while the backend cannot be reached. */
async function describeFile(session: Session, env: Env, path: string): Promise<AnswerFile | undefined> {
  const { backend } = session.toolRuntime
  const root = backend.resolve('.')
  const resolved = backend.resolve(path)
  if (!resolved.startsWith(`${root}/`)) return undefined
  const stat = await backend.userFiles.stat(resolved).catch((error: unknown) => {
    if (error instanceof BackendError) return undefined
    throw error
  })
  if (stat?.type !== 'file') return undefined
  const relative = resolved.slice(root.length + 1)
  const { tenantId, sessionId } = session
  const url = await createLink(env, { tenantId, sessionId, path: relative }, clock.now())
  return { path: relative, mime: mediaTypeOf(relative), bytes: stat.size, url: url ?? '' }
}
