/** A session of a backup as lines of JSON: its metadata, its rows, and its files as pieces of a tar archive. */

import { decodeBase64Bytes, encodeBase64Bytes } from '#agent/core/base64.ts'
import type { SessionCopy } from '#durable/session/copies/fork.ts'
import { readLines, textStream } from '#durable/platform/byte-stream.ts'

type Line = { readonly session: SessionCopy['meta'] } | { readonly row: unknown } | { readonly files: string }

const pieceBytes = 3 * 2 ** 18

export const encodeSession = (copy: SessionCopy): ReadableStream<Uint8Array> => textStream(lines(copy))

async function* lines({ meta, rows, files }: SessionCopy): AsyncGenerator<string> {
  yield `${JSON.stringify({ session: meta })}\n`
  for await (const row of readLines(rows)) yield `{"row":${row}}\n`
  for await (const piece of inPieces(files)) yield `${JSON.stringify({ files: encodeBase64Bytes(piece) })}\n`
}

/** Pieces of one size, so that equal files make equal lines. */
async function* inPieces(bytes: ReadableStream<Uint8Array>): AsyncGenerator<Uint8Array> {
  let open = new Uint8Array(0)
  for await (const part of bytes) {
    const joined = new Uint8Array(open.length + part.length)
    joined.set(open)
    joined.set(part, open.length)
    let at = 0
    for (; joined.length - at >= pieceBytes; at += pieceBytes) yield joined.slice(at, at + pieceBytes)
    open = joined.slice(at)
  }
  if (open.length) yield open
}

/** Returns a copy for `restore`, whose streams are filled while the lines are read. */
export async function decodeSession(bytes: ReadableStream<Uint8Array>): Promise<SessionCopy | undefined> {
  const given = readLines(bytes)
  const first = await given.next()
  const head = first.done ? undefined : (JSON.parse(first.value) as Partial<Record<'session', SessionCopy['meta']>>)
  if (!head?.session) return undefined
  const [rows, files] = [new IdentityTransformStream(), new IdentityTransformStream()]
  // A failure reaches the reader through the streams.
  void feed(given, rows.writable, files.writable).catch(() => undefined)
  return { meta: head.session, rows: rows.readable, files: files.readable, bytes: 0 }
}

/** The reader takes all rows before it takes the files. */
async function feed(given: AsyncGenerator<string>, rows: WritableStream, files: WritableStream): Promise<void> {
  const [rowWriter, fileWriter] = [rows.getWriter(), files.getWriter()]
  try {
    let isPastRows = false
    for await (const text of given) {
      const line = JSON.parse(text) as Line
      if ('row' in line) await rowWriter.write(new TextEncoder().encode(`${JSON.stringify(line.row)}\n`))
      if (!('files' in line)) continue
      if (!isPastRows) await rowWriter.close()
      isPastRows = true
      await fileWriter.write(decodeBase64Bytes(line.files))
    }
    if (!isPastRows) await rowWriter.close()
    await fileWriter.close()
  } catch (error) {
    await Promise.allSettled([rowWriter.abort(error), fileWriter.abort(error)])
  }
}
