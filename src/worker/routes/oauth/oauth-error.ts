/** Defines the errors of the OAuth endpoints, whose form the protocol fixes (RFC 6749, 5.2; RFC 7591, 3.2.2). */

export class OAuthError extends Error {
  override readonly name = 'OAuthError'
  readonly code: string
  readonly status: number
  constructor(code: string, message: string, status = 400) {
    super(message)
    this.code = code
    this.status = status
  }
}

export const noStore = { 'cache-control': 'no-store' } as const

export const renderOAuthError = ({ code, message, status }: OAuthError): Response =>
  Response.json(
    { error: code, error_description: message },
    { status, headers: { ...noStore, ...(status === 401 && { 'www-authenticate': 'Basic realm="Talaria"' }) } },
  )
