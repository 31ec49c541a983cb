/** Represents errors of Bedrock: HTTP errors before the reply, and exceptions inside the stream. */

export class BedrockError extends Error {
  override readonly name = 'BedrockError'
  /** The name of the AWS exception. The classifier reads it. */
  readonly code: string
  readonly status: number | undefined
  readonly headers: Headers | undefined
  constructor(code: string, message: string, { status, headers }: { status?: number; headers?: Headers } = {}) {
    super(message || code)
    this.code = code
    this.status = resolveStatus(code, status)
    this.headers = headers
  }
}

/**
 * Corrects statuses that mislead the classifier. Bedrock sends 424 when a model failed, which looks like a wrong
 * request, and 403 for an invalid signature, which looks like a valid key without permission.
 */
const statusOverrides: readonly (readonly [RegExp, number | undefined])[] = [
  [/^Model(Stream)?Error/i, undefined],
  [/^ModelNotReady/i, 503],
  [/^(ServiceQuotaExceeded|Throttling)/i, 429],
  [/^(UnrecognizedClient|ExpiredToken|InvalidSignature|IncompleteSignature|MissingAuthenticationToken)/i, 401],
]

function resolveStatus(code: string, status: number | undefined): number | undefined {
  const override = statusOverrides.find(([pattern]) => pattern.test(code))
  return override ? override[1] : status
}

export async function readBedrockError(response: Response): Promise<BedrockError> {
  const text = await response.text()
  const body = parseErrorBody(text)
  // The name may be followed by a colon and the URL of its documentation.
  const code = (response.headers.get('x-amzn-errortype') ?? body.type ?? '').split(':')[0] ?? ''
  const { status, headers } = response
  return new BedrockError(code, body.message ?? text.slice(0, 2_000), { status, headers })
}

type BedrockErrorFields = { readonly message?: string; readonly type?: string }

export function parseErrorBody(json: string): BedrockErrorFields {
  try {
    const body = JSON.parse(json) as Readonly<Record<string, unknown>>
    const message = [body['message'], body['Message'], body['originalMessage']].find(
      (value) => typeof value === 'string',
    )
    const type = typeof body['__type'] === 'string' ? body['__type'].split('#').at(-1) : undefined
    return { ...(message !== undefined && { message }), ...(type !== undefined && { type }) }
  } catch {
    return {}
  }
}
