/** Answers a request for a part of a file, or for a newer version of it. */

import { AppError } from '../errors.ts'

/** The first and the last byte, or how many of the last ones. */
const bounded = /^bytes=(\d{1,15})-(\d{0,15})$/
const lastBytes = /^bytes=-(\d{1,15})$/

/** Undefined: the whole file. Several ranges, and other units, count as none. */
function parseRange(header = '', size: number): readonly [first: number, last: number] | undefined {
  const [, from, to] = bounded.exec(header) ?? []
  if (from !== undefined) return [Number(from), Math.min(to ? Number(to) : size, size - 1)]
  const count = lastBytes.exec(header)?.[1]
  return count === undefined ? undefined : [Math.max(0, size - Number(count)), size - 1]
}

function notSatisfiable(size: number): AppError {
  const headers = { 'content-range': `bytes */${size}` }
  return new AppError(416, 'range_not_satisfiable', `The file has ${size} bytes.`, { param: 'Range', headers })
}

type RangeHeaders = {
  readonly range?: string | undefined
  readonly ifRange?: string | undefined
  readonly ifNoneMatch?: string | undefined
}

/** `headers` are those of the whole file. */
export function respondWithPart(
  bytes: Uint8Array,
  etag: string,
  headers: Record<string, string>,
  asked: RangeHeaders,
): Response {
  const all = { ...headers, etag, 'accept-ranges': 'bytes' }
  const known = asked.ifNoneMatch?.split(',').map((tag) => tag.trim().replace(/^W\//, ''))
  if (known?.includes(etag) || known?.includes('*')) return new Response(null, { status: 304, headers: all })
  const isSame = asked.ifRange === undefined || asked.ifRange === etag
  const range = isSame ? parseRange(asked.range, bytes.byteLength) : undefined
  if (!range) return new Response(bytes, { headers: all })
  const [first, last] = range
  if (first > last) throw notSatisfiable(bytes.byteLength)
  const part = { ...all, 'content-range': `bytes ${first}-${last}/${bytes.byteLength}` }
  return new Response(bytes.subarray(first, last + 1), { status: 206, headers: part })
}
