/**
 * Defines the names that sessions may have: generated ids and those that a client brings. The ids of runs, responses and
 * pending requests contain the session's, and a name may contain their separators.
 */

/** `.` and `..` would be lost in the path of an address. */
export const sessionNamePattern = /^(?!\.{1,2}$)[A-Za-z0-9_.:-]{1,128}$/
export const sessionNameHint = 'The name of a session has 1 to 128 letters, digits, _, -, . or :'

const generatedSession = /^ses_([0-9a-f]{32})$/
/** Whether this API made the id. No client has such a name. */
export const isGeneratedSession = (sessionId: string): boolean => generatedSession.test(sessionId)

const runBeginning = /^run_[0-9a-f]{16}/

/** The end of a run id, which identifies the session. */
export const runSuffix = (sessionId: string): string => generatedSession.exec(sessionId)?.[1] ?? `_${sessionId}`

/** Whether a run with this id belongs to the session. */
export const isRunOf = (runId: string, sessionId: string): boolean =>
  runBeginning.test(runId) && runId.slice('run_'.length + 16) === runSuffix(sessionId)

/** Splits a text at each dot and returns the first pair that fits. */
export function splitAtDot(
  text: string,
  fits: (before: string, after: string) => boolean,
): readonly [before: string, after: string] | undefined {
  for (let dot = text.indexOf('.'); dot >= 0; dot = text.indexOf('.', dot + 1)) {
    const pair = [text.slice(0, dot), text.slice(dot + 1)] as const
    if (fits(...pair)) return pair
  }
  return undefined
}
