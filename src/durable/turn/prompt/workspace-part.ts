/**
 * Builds the layer of the files that describe the project: AGENTS.md and its relatives. A host is never started for
 * them: they are read where the session has files already.
 */

import { log } from '#agent/core/log.ts'
import type { Files } from '#agent/core/backend.ts'
import type { PromptLayer } from '#agent/core/prompt-layer.ts'
import { contextFileCap, foldersTo, listContextFiles } from '#agent/prompt/context-files.ts'
import { createLayer } from '#agent/prompt/layers.ts'
import { isOwnReset } from '#durable/platform/object-reset.ts'
import { clock } from '#durable/platform/clock.ts'
import { type ContextFile, readFolder, readText, renderContextFile } from './context-files.ts'
import { usesWorkspace } from './environment-part.ts'
import type { PreparedSession, PromptPart } from './prompt-part.ts'

/** A first turn waits for a slow host no longer than this. */
const readTimeoutMs = 3_000

const unread =
  'The files that describe the project of the workspace could not be read. Look for AGENTS.md before you work on it.'

export const workspacePart: PromptPart = (context) => {
  const { session, model } = context
  const isRead = usesWorkspace(context) && session.hasReadableFiles()
  return isRead ? buildLayer(session, contextFileCap(model?.contextWindow)) : undefined
}

async function buildLayer(session: PreparedSession, maxChars: number): Promise<PromptLayer | undefined> {
  const files = await Promise.race([tryRead(session), clock.wait(readTimeoutMs).then(() => 'unread' as const)])
  if (files === 'unread') return createLayer('workspace', unread)
  if (!files.length) return undefined
  // The closest file has the most to say: it gets its room first.
  let remaining = maxChars
  const rendered = files
    .toReversed()
    .map((file) => {
      const result = renderContextFile(file, Math.max(0, remaining), (secret) => session.redact(secret))
      remaining -= Math.min(file.text.length, remaining)
      return result
    })
    .toReversed()
  const names = files.map(({ name }) => name).join(', ')
  const text = [`The workspace has files about its project: ${names}.`, ...rendered.map((each) => each.text)].join('\n')
  return createLayer('workspace', text, { isTruncated: rendered.some(({ isTruncated }) => isTruncated) })
}

async function tryRead(session: PreparedSession): Promise<readonly ContextFile[] | 'unread'> {
  try {
    return await readContextFiles(session)
  } catch (error) {
    if (isOwnReset(error)) throw error
    log.warn('prompt.files_unread', 'The context files of a workspace cannot be read.', { error })
    return 'unread'
  }
}

/** Returns the files of the first kind that has text, from the root to the working directory. */
async function readContextFiles({ toolRuntime, meta }: PreparedSession): Promise<readonly ContextFile[]> {
  const { files, capabilities } = toolRuntime.backend
  const { root } = capabilities
  const folders = await Promise.all(foldersTo(root, meta.shell?.cwd ?? root).map((path) => readFolder(files, path)))
  for (const group of listContextFiles(folders)) {
    const found = await Promise.all(group.map((path) => readFile(files, root, path)))
    const withText = found.filter((file) => file !== undefined)
    if (withText.length) return withText
  }
  return []
}

async function readFile(files: Files, root: string, path: string): Promise<ContextFile | undefined> {
  const text = await readText(files, path)
  return text === undefined ? undefined : { name: path.slice(root.length + 1), text }
}
