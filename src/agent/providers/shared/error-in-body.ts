/** Represents an error that a provider sends inside a response with status 200. */

/** The fields of the error object. The classifier reads all of them: code, type, and a wrapped upstream error. */
export type ErrorFields = {
  readonly message?: string
  readonly code?: string | number | null
  readonly [field: string]: unknown
}

export class ErrorInBody extends Error {
  override readonly name = 'ErrorInBody'
  readonly status: number | undefined
  readonly error: unknown
  constructor(error: ErrorFields | string) {
    const { message, code } = typeof error === 'string' ? { message: error } : error
    super(message ?? 'The provider sent an error.')
    this.status = Number(code) >= 400 && Number(code) < 600 ? Number(code) : undefined
    this.error = error
  }
}
