export const timeoutCode = 'TIMEOUT'

/** Bounds work that may never end. Rejects with the code TIMEOUT; the work itself goes on. */
export async function within<T>(work: Promise<T>, timeoutMs: number, subject: string): Promise<T> {
  const { promise: expired, reject } = Promise.withResolvers<never>()
  const timer = setTimeout(() => reject(createTimeout(timeoutMs, subject)), timeoutMs)
  return Promise.race([work, expired]).finally(() => clearTimeout(timer))
}

const createTimeout = (timeoutMs: number, subject: string): Error =>
  Object.assign(new Error(`${subject} did not end within ${timeoutMs / 1_000} s.`), {
    errorResponse: { code: timeoutCode, context: { admitted: true } },
  })
