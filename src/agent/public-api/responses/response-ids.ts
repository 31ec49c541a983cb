/**
 * Builds and parses the ids of responses. A response is a run of a session, or the part of one that answers a request.
 * The id of a response that is not stored has no session, so that it cannot be requested.
 */

import { isRunOf, sessionNamePattern, splitAtDot } from '#agent/core/session-name.ts'

export type ResponsePart = { readonly runId: string; readonly segment: number }

/** The first part has the id of the run; the number of a later part follows it. */
export const createResponseId = ({ runId, segment }: ResponsePart, sessionId?: string): string =>
  `resp_${runId.replace(/^run_/, '')}${segment ? `~${segment}` : ''}${sessionId === undefined ? '' : `.${sessionId}`}`

const partPattern = /^([\w.:-]{1,160}?)(?:~(\d{1,6}))?$/

/** Undefined for an id that this API did not make, or that names no session. A name of a session may contain dots. */
export function parseResponseId(id: string): (ResponsePart & { readonly sessionId: string }) | undefined {
  if (!id.startsWith('resp_') || id.length > 320) return undefined
  const rest = id.slice('resp_'.length)
  const isPartOf = (part: string, session: string) => isRunOf(`run_${partPattern.exec(part)?.[1]}`, session)
  const [part = '', sessionId] = splitAtDot(rest, isPartOf) ?? splitAtDot(rest, () => true) ?? []
  const [, run, segment = '0'] = partPattern.exec(part) ?? []
  if (run === undefined || sessionId === undefined || !sessionNamePattern.test(sessionId)) return undefined
  return { runId: `run_${run}`, segment: Number(segment), sessionId }
}
