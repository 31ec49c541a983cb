/** Reads request bodies of at most 10 MB and validates them. Errors name the first field that does not match. */

import type * as z from 'zod'
import { AppError, invalid } from '../errors.ts'

/** `text` is how the error names the maximum. */
export type BodyLimit = { readonly bytes: number; readonly text: string }
const standardLimit: BodyLimit = { bytes: 10 * 1024 * 1024, text: '10 MB' }

/** Throws 413 as soon as the declared or the real length exceeds the maximum. */
export async function readBytes(request: Request, limit = standardLimit): Promise<Uint8Array<ArrayBuffer>> {
  if (lengthOf(request) > limit.bytes) return refuse(request, limit)
  return declaresLength(request) ? new Uint8Array(await request.arrayBuffer()) : readChunks(request, limit)
}

export async function readText(request: Request): Promise<string> {
  if (lengthOf(request) > standardLimit.bytes) return refuse(request, standardLimit)
  return declaresLength(request) ? request.text() : new TextDecoder().decode(await readChunks(request, standardLimit))
}

const lengthOf = (request: Request): number => Number(request.headers.get('content-length') ?? 0)

/** The server enforces a declared length, so such a body can be read in one piece. */
const declaresLength = (request: Request): boolean => /^\d+$/.test(request.headers.get('content-length') ?? '')

/** A client that is cut off while it still sends may never see the answer. */
const maxDiscardedBytes = 64 << 20

async function refuse(request: Request, limit: BodyLimit): Promise<never> {
  if (lengthOf(request) <= maxDiscardedBytes) await request.body?.pipeTo(new WritableStream()).catch(() => undefined)
  throw tooLarge(limit)
}

async function readChunks(request: Request, limit: BodyLimit): Promise<Uint8Array<ArrayBuffer>> {
  if (!request.body) return new Uint8Array()
  const chunks: Uint8Array<ArrayBuffer>[] = []
  let length = 0
  for await (const chunk of request.body as unknown as AsyncIterable<Uint8Array<ArrayBuffer>>) {
    length += chunk.byteLength
    if (length > maxDiscardedBytes) break
    if (length <= limit.bytes) chunks.push(chunk)
  }
  if (length > limit.bytes) throw tooLarge(limit)
  return new Uint8Array(await new Blob(chunks).arrayBuffer())
}

const tooLarge = ({ text }: BodyLimit) =>
  new AppError(413, 'body_too_large', `The body is larger than ${text}.`, { param: 'body' })

export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw new AppError(400, 'invalid_json', 'The body is not valid JSON.', { param: 'body' })
  }
}

/** Only such an escape can be half of a surrogate pair: bodies are UTF-8. */
export const halfEscape = /\\ud[89a-f]/i

/**
 * Refuses half of a surrogate pair, which columns of text would store as three other characters. Messages (`input`) are
 * stored as JSON, which keeps it.
 */
export function requireWholeText(body: unknown): void {
  for (const [name, value] of Object.entries(body ?? {}))
    if (name !== 'input' && !isWholeText([name, value])) throw invalid(`${name}: has half a character`, name)
}

const isWholeText = (value: unknown): boolean =>
  typeof value === 'string'
    ? value.isWellFormed()
    : typeof value !== 'object' ||
      Object.entries(value ?? {})
        .flat()
        .every(isWholeText)

/** Parses a value with a schema. Throws an error that names the first field that does not match. */
export function validate<Schema extends z.ZodType>(schema: Schema, value: unknown, root = 'body'): z.infer<Schema> {
  const result = schema.safeParse(value)
  if (result.success) return result.data
  const issue = result.error.issues[0] && pickClosestIssue(result.error.issues[0])
  if (!issue || !isMissing(value, issue)) throw validationError(issue, root)
  const name = issue.path.join('.') || root
  throw invalid(`${name} is missing.`, name)
}

export function validationError(issue: z.core.$ZodIssue | undefined, root: string): AppError {
  const at = issue?.path.join('.') ?? ''
  if (issue?.code === 'unrecognized_keys') {
    const name = [at, issue.keys[0]].filter(Boolean).join('.')
    return invalid(`Unknown field: ${name}.`, name)
  }
  return invalid(`${at || root}: ${issue?.message ?? 'invalid'}`, at || root)
}

/** Picks the issue of the union member that matched the value furthest. */
export function pickClosestIssue(issue: z.core.$ZodIssue): z.core.$ZodIssue {
  if (issue.code !== 'invalid_union') return issue
  const tried = issue.errors.flatMap(([first]) => (first ? [pickClosestIssue(first)] : []))
  const best = tried.toSorted((one, other) => other.path.length - one.path.length)[0]
  return best?.path.length ? { ...best, path: [...issue.path, ...best.path] } : issue
}

/** Recognises issues of missing fields. Zod reports them as a wrong type, or for unions not at all. */
function isMissing(value: unknown, issue: z.core.$ZodIssue): boolean {
  if (!['invalid_type', 'invalid_union', 'invalid_value'].includes(issue.code ?? '')) return false
  const found = issue.path.reduce<unknown>(
    (inner, key) => (typeof inner === 'object' && inner !== null ? Reflect.get(inner, key) : undefined),
    value,
  )
  return found === undefined
}
