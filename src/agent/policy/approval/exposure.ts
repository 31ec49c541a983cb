/**
 * Tells what a conversation has read, and which calls could send it out. After foreign content and private data,
 * whatever leaves needs a person: a page may have asked for it.
 */

import { callsIn, type Message, textIn } from '#agent/core/message.ts'
import type { Assessment } from '#agent/core/permission/approval.ts'
import type { Authority, Exposure } from '#agent/core/permission/authority.ts'
import type { Risk } from '#agent/core/tool.ts'

/** Strangers wrote what these return. */
const foreignTools = /^(?:web|browser|mcp)_/
/** Results of these belong to the tenant. Foreign servers may return both. */
const privateTools =
  /^(?:mcp_|ha_)|^(?:read_file|search_files|terminal|process|memory|session_search|vision_analyze|execute_code)$/
/** Files that web_extract and the browser have written. */
const webResults = /^\/tmp\/results\/(?:web|browser)-[\w.-]{1,150}$/

/** Returns what the result of a call adds. */
export function getExposure(tool: string, input: unknown, result = ''): Exposure {
  if (tool === 'delegate_task') return exposureOfTrace(result)
  const isForeign = foreignTools.test(tool) || isWebFile(tool, input) || isWebImage(tool, input)
  const isPrivate =
    privateTools.test(tool) && !isWebFile(tool, input) && !isWebImage(tool, input) && !isIsolate(tool, input)
  return { ...(isForeign && { isForeign }), ...(isPrivate && { isPrivate }) }
}

const isWebFile = (tool: string, input: unknown) => tool === 'read_file' && webResults.test(renderText(input, 'path'))
const isWebImage = (tool: string, input: unknown) =>
  tool === 'vision_analyze' && /^(?:MEDIA:\s?)?https?:/i.test(renderText(input, 'image_url'))
/** Programs in an isolate read only by the tools that they call. */
const isIsolate = (tool: string, input: unknown) =>
  tool === 'execute_code' && renderText(input, 'language') !== 'python'

/** The result of subagents names the tools that they have used. */
function exposureOfTrace(result: string): Exposure {
  let exposure: Exposure = {}
  for (const [, tool = ''] of result.matchAll(/"tool"\s{0,5}:\s{0,5}"([\w-]{1,100})"/g))
    exposure = joinExposures(exposure, getExposure(tool, {}))
  return exposure
}

/** Returns what a model reads with these messages. Undone and summarised messages are not among them. */
export function exposureOfMessages(messages: readonly Message[]): Exposure {
  const inputs = new Map<string, unknown>()
  let exposure: Exposure = {}
  for (const message of messages) {
    if (message.role === 'assistant') for (const call of callsIn(message)) inputs.set(call.id, call.input)
    exposure = joinExposures(exposure, exposureOfMessage(message, inputs))
    if (exposure.isForeign && exposure.isPrivate) break
  }
  return exposure
}

function exposureOfMessage(message: Message, inputs: ReadonlyMap<string, unknown>): Exposure {
  if (message.role === 'user') return message.source === 'webhook' ? { isForeign: true } : {}
  if (message.role === 'assistant')
    return message.content.some((part) => part.type === 'thinking' && part.search !== undefined)
      ? { isForeign: true }
      : {}
  const { name, callId, nonce } = message
  const input = inputs.get(callId)
  return joinExposures(
    getExposure(name, input, name === 'delegate_task' ? textIn(message) : ''),
    // Also programs that called a foreign tool have a fence.
    joinExposures(
      nonce === undefined ? {} : { isForeign: true },
      name === 'execute_code' ? exposureOfCode(renderText(input, 'code')) : {},
    ),
  )
}

/** The calls of a program are not stored as messages. Its code names the tools. */
const exposureOfCode = (code: string): Exposure =>
  [...code.matchAll(/\b[a-z]{1,20}_\w{1,80}|\b(?:terminal|process|memory)\b/g)]
    .map(([tool]) => getExposure(tool, {}))
    .reduce(joinExposures, {})

export const joinExposures = (one: Exposure, other: Exposure): Exposure => ({
  ...((one.isForeign || other.isForeign) && { isForeign: true }),
  ...((one.isPrivate || other.isPrivate) && { isPrivate: true }),
})

/** The exposure that the authority of a turn brings along, such as that of a subagent. */
export const exposureOfAuthority = ({ taint, exposure = {} }: Pick<Authority, 'taint' | 'exposure'>): Exposure =>
  joinExposures(exposure, taint === 'untrusted' ? { isForeign: true } : {})

type PossibleSend = {
  readonly tool: string
  readonly input: unknown
  readonly risk: Risk
  /** Commands and code of the session reach a network. */
  readonly isOnline: boolean
}

const leavingRisks: ReadonlySet<Risk> = new Set(['net', 'send', 'spend'])
function leaves({ tool, input, risk, isOnline }: PossibleSend, { leaves: isSent, isUnjudged }: Assessment): boolean {
  if (leavingRisks.has(risk) || tool.startsWith('mcp_')) return true
  if (tool === 'cronjob') return /^(?:create|update)$/.test(renderText(input, 'action'))
  if (!isOnline) return false
  if (tool === 'terminal') return isSent === true || isUnjudged === true
  if (tool === 'execute_code') return renderText(input, 'language') === 'python'
  return tool === 'process' && /^(?:write|submit)$/.test(renderText(input, 'action'))
}

/** Lets a person decide about a call that could send out what the turn has read. */
export function assessExposure(assessment: Assessment, send: PossibleSend, exposure: Exposure): Assessment {
  if (!exposure.isForeign || !exposure.isPrivate || assessment.verdict === 'hardline') return assessment
  if (!leaves(send, assessment)) return assessment
  const reason = 'the turn has read foreign content and private data, and this call sends something out'
  return { ...assessment, verdict: 'ask', reasons: [...assessment.reasons, reason], needsPerson: true }
}

function renderText(input: unknown, name: string): string {
  const value: unknown = typeof input === 'object' && input !== null ? (input as Record<string, unknown>)[name] : ''
  return typeof value === 'string' ? value : ''
}
