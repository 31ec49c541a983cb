import { withTimeout } from '#durable/platform/timeout.ts'

export const timeoutCode = 'TIMEOUT'

/** Bounds work that may never end. Rejects with the code TIMEOUT; the work itself goes on. */
export const within = <T>(work: Promise<T>, timeoutMs: number, subject: string): Promise<T> =>
  withTimeout(work, timeoutMs, () => {
    throw createTimeout(timeoutMs, subject)
  })

const createTimeout = (timeoutMs: number, subject: string): Error =>
  Object.assign(new Error(`${subject} did not end within ${timeoutMs / 1_000} s.`), {
    errorResponse: { code: timeoutCode, context: { admitted: true } },
  })
