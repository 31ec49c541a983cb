/**
 * Finds the files that an answer gives to the user: those that it names by `MEDIA:path` or links to, and those that
 * tools of the run made and reported with path and media type.
 */

import { type Message, textIn } from '#agent/core/message.ts'

/** A file that is listed with its run. */
export type AnswerFile = { readonly path: string; readonly mime: string; readonly bytes: number; readonly url: string }

const maxFiles = 20
const maxPathChars = 1_024
/** Longer texts are reports, not answers that list files. */
const maxSearchedChars = 200_000

/** Returns paths as they were written. They need not exist. */
export function findAttachmentPaths(messages: readonly Message[]): readonly string[] {
  const answer = messages.findLast(({ role }) => role === 'assistant')
  const named = answer ? pathsIn(textIn(answer).slice(0, maxSearchedChars)) : []
  const made = messages.flatMap((message) => (message.role === 'tool' && !message.failed ? pathOfResult(message) : []))
  return [...new Set([...named, ...made])].slice(0, maxFiles)
}

function pathsIn(text: string): readonly string[] {
  const named = [...text.matchAll(/(?:^|\s)MEDIA:\s?(\S{1,1024})/g)]
  const linked = [...text.matchAll(/\]\(<?([^()<>\s]{1,1024})>?\)/g)]
  return [...named, ...linked].flatMap(([, path = '']) => (isWorkspacePath(path) ? [decodePath(path)] : []))
}

/** The text without the tags of files that are sent beside it. */
export const withoutMediaTags = (text: string, paths: readonly string[]): string =>
  text.replace(/(^|\s)MEDIA:\s?(\S{1,1024})/g, (tag, before: string, path: string) =>
    paths.includes(decodePath(path)) ? before : tag,
  )

/** Addresses, fragments and absolute paths outside of the workspace are no files of it. */
const isWorkspacePath = (path: string): boolean =>
  !/^[A-Za-z][A-Za-z0-9+.-]*:|^[#?]|^\/(?!workspace\/)|(?:^|\/)\.\.(?:\/|$)/.test(path)

function decodePath(path: string): string {
  try {
    return decodeURIComponent(path)
  } catch {
    return path
  }
}

/** The result of a media tool has path and media type. */
function pathOfResult(message: Message): readonly string[] {
  const text = textIn(message)
  if (text.length > 10_000 || !text.includes('"mime"')) return []
  try {
    const { success, path, mime } = JSON.parse(text) as { success?: unknown; path?: unknown; mime?: unknown }
    const isFile = success === true && typeof path === 'string' && typeof mime === 'string'
    return isFile && path.length <= maxPathChars && isWorkspacePath(path) ? [path] : []
  } catch {
    // The result is text of another kind.
    return []
  }
}
