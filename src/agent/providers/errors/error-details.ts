/** Extracts the status, codes, messages and headers from a thrown value of any shape. */

export type ErrorDetails = {
  readonly status: number | undefined
  /** Error codes, error types and class names. Lower case. */
  readonly codes: readonly string[]
  /** All messages, outermost first, one per line. Lower case. */
  readonly text: string
  /** The outermost message, unchanged. */
  readonly message: string
  readonly headers: Headers | undefined
  /** Values of reset and retry fields: a duration or a time. */
  readonly resets?: readonly string[]
}

/** Maximum nesting of causes, and of errors inside the messages of aggregators. */
const maxDepth = 5
/** Maximum entries read from a list, such as Google's `details`. */
const maxListItems = 20
/** Limits the text that is matched, because some patterns backtrack. */
const maxTextChars = 10_000
const codeFields = ['code', 'type', 'status', 'reason', 'name'] as const
const textFields = ['message', 'errorMessage', 'error_description', 'detail', 'raw', 'reason'] as const
const nestedFields = ['error', 'cause', 'metadata', 'errorArgs', 'body', 'details', 'headers'] as const
/** For example ChatGPT `resets_at`, Google `retryDelay`, and OpenRouter `X-RateLimit-Reset` in the headers of the body. */
const resetFields = /^(x-ratelimit-)?(reset|resets|retry)_?(at|until|after|delay|in_seconds)?$/i

type Collected = {
  status: number | undefined
  codes: string[]
  texts: string[]
  resets: string[]
  headers: Headers | undefined
}

export function extractErrorDetails(error: unknown): ErrorDetails {
  const collected: Collected = { status: undefined, codes: [], texts: [], resets: [], headers: undefined }
  collect(error, collected, 0)
  const texts = [...new Set(collected.texts.map((text) => text.trim()).filter(Boolean))]
  return {
    status: collected.status,
    codes: [...new Set(collected.codes.map((code) => code.toLowerCase()))],
    text: texts.join('\n').slice(0, maxTextChars).toLowerCase(),
    message: texts[0] ?? '',
    headers: collected.headers,
    resets: collected.resets,
  }
}

function collect(value: unknown, collected: Collected, depth: number): void {
  if (depth > maxDepth) return
  if (typeof value === 'string') collectFromText(value, collected, depth)
  else if (Array.isArray(value)) for (const item of value.slice(0, maxListItems)) collect(item, collected, depth + 1)
  else if (typeof value === 'object' && value !== null)
    collectFromRecord(value as Record<string, unknown>, collected, depth)
}

function collectFromRecord(record: Record<string, unknown>, collected: Collected, depth: number): void {
  collected.status ??= getStatus(record)
  if (record['headers'] instanceof Headers) collected.headers ??= record['headers']
  collected.codes.push(...codeFields.flatMap((field) => getText(record, field)))
  for (const text of textFields.flatMap((field) => getText(record, field))) collectFromText(text, collected, depth)
  for (const [name, value] of Object.entries(record))
    if (resetFields.test(name) && (typeof value === 'number' || typeof value === 'string'))
      collected.resets.push(`${value}`)
  for (const field of nestedFields) collect(record[field], collected, depth + 1)
}

const getText = (record: Record<string, unknown>, field: string): readonly string[] => {
  const value = record[field]
  return typeof value === 'string' ? [value] : []
}

/** Reads `status`, or `code`, where aggregators put the upstream's status. */
function getStatus({ status, code }: Record<string, unknown>): number | undefined {
  if (typeof status === 'number') return status
  const number = Number(code)
  return number >= 400 && number < 600 ? number : undefined
}

/** Records a message, and parses JSON in it: aggregators wrap the upstream's error in a string. */
function collectFromText(text: string, collected: Collected, depth: number): void {
  collected.texts.push(text.slice(0, 4_000))
  const start = text.indexOf('{')
  if (start < 0 || depth >= maxDepth) return
  try {
    collect(JSON.parse(text.slice(start)), collected, depth + 1)
  } catch {
    // Not JSON. The text itself is already recorded.
  }
}
