/** Decides whether a message that was not accepted is sent again. */

/** Refusals of the moment: the sign-in has expired, or a limit is reached. */
const passing = new Set([401, 408, 425, 429])

/** Status 0: there is no network. */
export const isDefiniteRefusal = (status: number): boolean => status >= 400 && status < 500 && !passing.has(status)
