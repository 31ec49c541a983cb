/** Recognises the errors by which the runtime resets a Durable Object: a new deployment, a lost race, too much memory. */

/** True when this object or one that it called is being reset. */
export const isObjectReset = (error: unknown): boolean =>
  error instanceof Error &&
  ('durableObjectReset' in error || /code was updated|superseded|memory limit|object reset/i.test(error.message))

/** True when this object itself is being reset, and not one that it called: its storage must not be touched any more. */
export const isOwnReset = (error: unknown): boolean =>
  isObjectReset(error) && !(error instanceof Error && 'remote' in error)
