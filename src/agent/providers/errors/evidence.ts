/** What can be read off a thrown value: status, codes, every message it carries, headers. */

export type Evidence = {
  readonly status: number | undefined
  /** Machine-readable words: error codes and types, class names. Lower case. */
  readonly codes: readonly string[]
  /** All messages, outermost first, one per line. Lower case. */
  readonly text: string
  /** The first message as it was written. */
  readonly message: string
  readonly headers: Headers | undefined
  /** Times to wait, or until when, that stand in fields of their own. */
  readonly resets?: readonly string[]
}

/** Causes within causes, and errors within the messages of aggregators: this deep and no deeper. */
const maxDepth = 5
/** Google has lists of details. */
const mostOfList = 20
/** Characters that are read for what they mean, with expressions that look at some places many times. */
const mostText = 10_000
const codeFields = ['code', 'type', 'status', 'reason', 'name'] as const
const textFields = ['message', 'errorMessage', 'error_description', 'detail', 'raw', 'reason'] as const
const nestedFields = ['error', 'cause', 'metadata', 'errorArgs', 'body', 'details', 'headers'] as const
/** ChatGPT `resets_at`, Google `retryDelay`, OpenRouter `X-RateLimit-Reset` among its headers in the body; and kin. */
const resetFields = /^(x-ratelimit-)?(reset|resets|retry)_?(at|until|after|delay|in_seconds)?$/i

type Found = {
  status: number | undefined
  codes: string[]
  texts: string[]
  resets: string[]
  headers: Headers | undefined
}

export function evidenceOf(error: unknown): Evidence {
  const found: Found = { status: undefined, codes: [], texts: [], resets: [], headers: undefined }
  search(error, found, 0)
  const texts = [...new Set(found.texts.map((text) => text.trim()).filter(Boolean))]
  return {
    status: found.status,
    codes: [...new Set(found.codes.map((code) => code.toLowerCase()))],
    text: texts.join('\n').slice(0, mostText).toLowerCase(),
    message: texts[0] ?? '',
    headers: found.headers,
    resets: found.resets,
  }
}

function search(value: unknown, found: Found, depth: number): void {
  if (depth > maxDepth) return
  if (typeof value === 'string') searchText(value, found, depth)
  else if (Array.isArray(value)) for (const one of value.slice(0, mostOfList)) search(one, found, depth + 1)
  else if (typeof value === 'object' && value !== null) searchRecord(value as Record<string, unknown>, found, depth)
}

function searchRecord(record: Record<string, unknown>, found: Found, depth: number): void {
  found.status ??= statusIn(record)
  if (record['headers'] instanceof Headers) found.headers ??= record['headers']
  found.codes.push(...codeFields.flatMap((field) => textAt(record, field)))
  for (const text of textFields.flatMap((field) => textAt(record, field))) searchText(text, found, depth)
  for (const [name, value] of Object.entries(record))
    if (resetFields.test(name) && (typeof value === 'number' || typeof value === 'string'))
      found.resets.push(`${value}`)
  for (const field of nestedFields) search(record[field], found, depth + 1)
}

const textAt = (record: Record<string, unknown>, field: string): readonly string[] => {
  const value = record[field]
  return typeof value === 'string' ? [value] : []
}

/** Aggregators put the upstream's status into `code`. */
function statusIn({ status, code }: Record<string, unknown>): number | undefined {
  if (typeof status === 'number') return status
  const number = Number(code)
  return number >= 400 && number < 600 ? number : undefined
}

/** Aggregators wrap the upstream's JSON in a string. */
function searchText(text: string, found: Found, depth: number): void {
  found.texts.push(text.slice(0, 4_000))
  const start = text.indexOf('{')
  if (start < 0 || depth >= maxDepth) return
  try {
    search(JSON.parse(text.slice(start)), found, depth + 1)
  } catch {
    // Not JSON after all: the words are already noted.
  }
}
