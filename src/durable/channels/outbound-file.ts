/** Reads a file of the workspace for a chat, or says where it is. Loaded for the first file of a chat. */

import type { Files } from '#agent/core/backend.ts'
import { mediaKindOf } from '#agent/core/media/media-reference.ts'
import { mediaTypeOf } from '#agent/core/media/media-type.ts'
import type { OutboundFile } from '#channels/channel.ts'
import { clock } from '#durable/platform/clock.ts'
import { createLink } from '#durable/platform/signed-links.ts'

/** The workspace of a session. */
export type FileSource = {
  readonly tenantId: string
  readonly sessionId: string
  readonly resolve: (path: string) => string
  readonly userFiles: Pick<Files, 'read' | 'stat'>
  /** Returns why a file of an answer may not be sent, in words for the chat. */
  readonly findProblem: (path: string) => Promise<string | undefined>
}

/** The object has 128 MB of memory. */
const maxReadBytes = 30_000_000

/** `isOfAnswer`: the model names the file, not the person. */
type FileRequest = { readonly path: string; readonly maxBytes: number; readonly isOfAnswer: boolean }

/** Undefined for a path that is no file of the workspace. */
export async function readOutboundFile(
  env: Env,
  source: FileSource,
  { path, maxBytes, isOfAnswer }: FileRequest,
): Promise<{ readonly file: OutboundFile } | { readonly text: string } | undefined> {
  const { resolve, userFiles, findProblem } = source
  const resolved = resolve(path)
  const root = `${resolve('.')}/`
  const stat = resolved.startsWith(root) ? await userFiles.stat(resolved) : undefined
  if (stat?.type !== 'file') return undefined
  const problem = isOfAnswer ? await findProblem(path) : undefined
  if (problem !== undefined) return { text: problem }
  const relative = resolved.slice(root.length)
  const name = relative.split('/').at(-1) ?? relative
  const bytes =
    stat.size > 0 && stat.size <= Math.min(maxBytes, maxReadBytes) ? await userFiles.read(resolved) : undefined
  if (bytes) {
    const mime = mediaTypeOf(relative)
    // Speech in Ogg is what platforms show as a voice message.
    const kind = mime === 'audio/ogg' ? 'voice' : mediaKindOf(mime)
    return { file: { kind, name, mime, bytes: Uint8Array.from(bytes) } }
  }
  return describeFile(env, source, relative)
}

async function describeFile(env: Env, { tenantId, sessionId }: FileSource, relative: string) {
  const name = relative.split('/').at(-1) ?? relative
  const link = await createLink(env, { tenantId, sessionId, path: relative }, clock.now())
  const origin = env.PUBLIC_URL?.replace(/\/{1,20}$/, '')
  return { text: link && origin ? `${name}: ${origin}${link}` : `${name} is in the workspace: ${relative}` }
}
