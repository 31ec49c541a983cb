/** Exit codes of the command line. */

export const exits = { done: 0, failed: 1, usage: 2, waits: 3, access: 4 }

/** Wrong arguments: the message says what is expected. */
export class UsageError extends Error {}
