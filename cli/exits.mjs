/** Exit codes of the command line. */

export const exits = { done: 0, failed: 1, usage: 2, waits: 3, access: 4 }

/** Wrong arguments: the message says what is expected. */
export class UsageError extends Error {}

/** Something that cannot be done: the message says why, and a stack trace would say nothing more. */
export class Failure extends Error {}
