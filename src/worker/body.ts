/** Request bodies: at most 10 MB, JSON where JSON is expected, and checked against a schema that names what is wrong. */

import type * as z from 'zod'
import { AppError, invalid } from './errors.ts'

const maxBytes = 10 * 1024 * 1024

/** A body that says it is larger, or turns out to be, is refused before it is read to the end. */
export async function readBytes(request: Request): Promise<Uint8Array> {
  return saysItsLength(request) ? new Uint8Array(await request.arrayBuffer()) : gather(request)
}

export async function readText(request: Request): Promise<string> {
  return saysItsLength(request) ? request.text() : new TextDecoder().decode(await gather(request))
}

/** Then the server holds it to its word, and it can be taken in one piece. */
function saysItsLength(request: Request): boolean {
  const length = request.headers.get('content-length')
  if (Number(length ?? 0) > maxBytes) throw tooLarge()
  return length !== null && /^\d+$/.test(length)
}

/** For those who may send less. `words`: how the bound is told. */
export async function readUpTo(request: Request, most: number, words: string): Promise<Uint8Array> {
  if (Number(request.headers.get('content-length') ?? 0) > most) throw tooLarge(words)
  return gather(request, most, words)
}

async function gather(request: Request, most = maxBytes, words = '10 MB'): Promise<Uint8Array> {
  if (!request.body) return new Uint8Array()
  const chunks: Uint8Array[] = []
  let length = 0
  for await (const chunk of request.body as unknown as AsyncIterable<Uint8Array>) {
    length += chunk.byteLength
    if (length > most) throw tooLarge(words)
    chunks.push(chunk)
  }
  const whole = new Uint8Array(length)
  let at = 0
  for (const chunk of chunks) {
    whole.set(chunk, at)
    at += chunk.byteLength
  }
  return whole
}

const tooLarge = (most = '10 MB') =>
  new AppError(413, 'body_too_large', `The body is larger than ${most}.`, { param: 'body' })

export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw new AppError(400, 'invalid_json', 'The body is not valid JSON.', { param: 'body' })
  }
}

/** The value as the schema sees it, or an error that names the first field that does not fit. */
export function check<Schema extends z.ZodType>(schema: Schema, value: unknown, where = 'body'): z.infer<Schema> {
  const result = schema.safeParse(value)
  if (result.success) return result.data
  const issue = result.error.issues[0] && closest(result.error.issues[0])
  if (!issue || !isMissing(value, issue)) throw refusalOf(issue, where)
  const name = issue.path.join('.') || where
  throw invalid(`${name} is missing.`, name)
}

export function refusalOf(issue: z.core.$ZodIssue | undefined, where: string): AppError {
  const at = issue?.path.join('.') ?? ''
  if (issue?.code === 'unrecognized_keys') {
    const name = [at, issue.keys[0]].filter(Boolean).join('.')
    return invalid(`Unknown field: ${name}.`, name)
  }
  return invalid(`${at || where}: ${issue?.message ?? 'invalid'}`, at || where)
}

/** Where several shapes would do, what is wrong with the one that the value is most like: it was followed furthest. */
function closest(issue: z.core.$ZodIssue): z.core.$ZodIssue {
  if (issue.code !== 'invalid_union') return issue
  const tried = issue.errors.flatMap(([first]) => (first ? [closest(first)] : []))
  const best = tried.toSorted((one, other) => other.path.length - one.path.length)[0]
  return best?.path.length ? { ...best, path: [...issue.path, ...best.path] } : issue
}

/** What zod calls "received undefined", or nothing at all where several shapes would do. */
function isMissing(value: unknown, issue: z.core.$ZodIssue): boolean {
  if (!['invalid_type', 'invalid_union', 'invalid_value'].includes(issue.code ?? '')) return false
  const found = issue.path.reduce<unknown>(
    (inner, key) => (typeof inner === 'object' && inner !== null ? Reflect.get(inner, key) : undefined),
    value,
  )
  return found === undefined
}
