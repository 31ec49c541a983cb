/** Errors of Bedrock: by status before the answer, as exceptions with a name inside it. */

export class BedrockError extends Error {
  override readonly name = 'BedrockError'
  /** The name of the exception; the classifier knows them. */
  readonly code: string
  readonly status: number | undefined
  readonly headers: Headers | undefined
  constructor(code: string, message: string, { status, headers }: { status?: number; headers?: Headers } = {}) {
    super(message || code)
    this.code = code
    this.status = statusFor(code, status)
    this.headers = headers
  }
}

/**
 * Where the status says something else than the name. A model that failed is a 424, which reads as if the
 * request were wrong; a signature that does not hold is a 403, which reads as if the key were good.
 */
const statuses: readonly (readonly [RegExp, number | undefined])[] = [
  [/^Model(Stream)?Error/i, undefined],
  [/^ModelNotReady/i, 503],
  [/^(ServiceQuotaExceeded|Throttling)/i, 429],
  [/^(UnrecognizedClient|ExpiredToken|InvalidSignature|IncompleteSignature|MissingAuthenticationToken)/i, 401],
]

function statusFor(code: string, status: number | undefined): number | undefined {
  const known = statuses.find(([pattern]) => pattern.test(code))
  return known ? known[1] : status
}

export async function errorOf(response: Response): Promise<BedrockError> {
  const text = await response.text()
  const said = messageIn(text)
  // The name may have an address behind it, which only says where it is explained.
  const code = (response.headers.get('x-amzn-errortype') ?? said.type ?? '').split(':')[0] ?? ''
  const { status, headers } = response
  return new BedrockError(code, said.message ?? text.slice(0, 2_000), { status, headers })
}

type Said = { readonly message?: string; readonly type?: string }

export function messageIn(json: string): Said {
  try {
    const body = JSON.parse(json) as Readonly<Record<string, unknown>>
    const message = [body['message'], body['Message'], body['originalMessage']].find((one) => typeof one === 'string')
    const type = typeof body['__type'] === 'string' ? body['__type'].split('#').at(-1) : undefined
    return { ...(message !== undefined && { message }), ...(type !== undefined && { type }) }
  } catch {
    return {}
  }
}
