/** Reads a file of the workspace, or an earlier version of it, and what it is by its first bytes. */

import { filePath, get, send } from '../../api/client.ts'
import { findMime } from '../../model/picture-type.ts'

export type FilePlace = {
  readonly session: string
  readonly path: string
  /** The file as it was before the turn of this checkpoint. */
  readonly checkpoint?: number | undefined
}

export type FileContent = {
  readonly blob: Blob
  readonly tag: string | null
  /** Undefined: it is no text, or too long for a field. */
  readonly text: string | undefined
  /** The type of a picture. */
  readonly picture: string | undefined
}

const maxTextBytes = 500_000

const addressOf = ({ session, path, checkpoint }: FilePlace): string =>
  `${filePath(session, path)}${checkpoint === undefined ? '' : `?checkpoint=${checkpoint}`}`

/** The path is that of a folder, whose list has no version. */
export class FolderError extends Error {}

export async function readContent(place: FilePlace): Promise<FileContent> {
  const response = await send('GET', addressOf(place))
  const tag = response.headers.get('etag')
  if (tag === null && response.headers.get('content-type') === 'application/json') throw new FolderError(place.path)
  const blob = await response.blob()
  const bytes = new Uint8Array(await blob.slice(0, 512).arrayBuffer())
  const picture = findMime(bytes, place.path)
  const isText = (picture === undefined || picture === 'image/svg+xml') && !bytes.includes(0)
  const text = isText && blob.size <= maxTextBytes ? await blob.text() : undefined
  return { blob, tag, picture, text }
}

/** Whether the file was there at that time. One without bytes has no range. */
export async function wasThere(place: FilePlace): Promise<boolean> {
  const { status } = await send('GET', addressOf(place), { headers: { range: 'bytes=0-0' } }).catch(
    (error: { readonly status: number }) => error,
  )
  return status < 300 || status === 416
}

/** The text of a document, which the server extracts. Only of the newest version. */
export const readDocument = ({ session, path }: FilePlace): Promise<{ readonly text: string }> =>
  get(`${filePath(session, path)}?format=text`)
