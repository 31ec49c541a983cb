/**
 * Decides whether a call may send out what its turn has read. After foreign and private data, whatever leaves needs a
 * person, because a page may have asked for it, unless nothing private is in it (outgoing-content.ts). Before anything
 * foreign has arrived, the network alone is no reason to ask about a command.
 */

import { holdsBoth, type Marks } from '#agent/core/marks.ts'
import type { Assessment } from '#agent/core/permission/approval.ts'
import type { Reach, Risk } from '#agent/core/tool.ts'
import { readText, sourceOf } from '#agent/untrusted/result-marks.ts'

export type EgressState = {
  /** The marks of what the turn holds. */
  readonly now: () => Marks
  /** Whether a file of the workspace may hold what others have written. */
  readonly hasForeignFiles: () => boolean
  /** Whether somebody else may have dictated a file of the workspace. */
  readonly hasDictatedFiles: () => boolean
  /** Whether the file, by its absolute path, holds private data. */
  readonly isPrivateFile: (path: string) => boolean
  /** Loads what `carriesNothing` needs, when the turn holds foreign content. Undefined: nothing has to be awaited. */
  readonly load: () => Promise<unknown> | undefined
  /** Whether the call can have nothing private in it. Counts it. */
  readonly carriesNothing: (send: SentContent) => boolean
}

export type PossibleSend = {
  readonly tool: string
  readonly input: unknown
  readonly risk: Risk
  /** Commands and code of the session reach a network. */
  readonly isOnline: boolean
  /** Of a tool of a trusted server. */
  readonly server?: { readonly reach: Reach; readonly schema: object } | undefined
}

export type SentContent = Pick<PossibleSend, 'tool' | 'input' | 'server'>

/** Lets a person decide about a call that could send out what the turn has read. */
export function assessEgress(assessed: Assessment, send: PossibleSend, state: EgressState | undefined): Assessment {
  if (!state) return assessed
  const isCalm = assessed.asksForNetwork && !state.now().isForeign && !state.hasForeignFiles()
  const assessment: Assessment = isCalm ? { ...assessed, verdict: 'allow', reasons: [] } : assessed
  if (assessment.verdict === 'hardline' || !canLead(send, assessment, state) || !leaves(send, assessment, state))
    return assessment
  if (state.carriesNothing(send)) return assessment
  const reason = 'the turn has read foreign content and private data, and this call sends something out'
  return { ...assessment, verdict: 'ask', reasons: [...assessment.reasons, reason], needsPerson: true }
}

/** They send files that they name. */
const sendsFiles: ReadonlySet<string> = new Set([
  'send_message',
  'browser_upload',
  'image_generate',
  'video_analyze',
  'video_generate',
])

/**
 * Whether a page could have asked for private data: the turn has read both, or the call itself reads what it sends. A
 * command and a program may read any file.
 */
function canLead({ tool }: PossibleSend, { subjects }: Assessment, state: EgressState): boolean {
  const marks = state.now()
  if (!marks.isForeign || marks.isPrivate) return holdsBoth(marks)
  if (/^(?:terminal|process|execute_code)$/.test(tool)) return true
  return sendsFiles.has(tool) && subjects.some((path) => path.startsWith('/') && state.isPrivateFile(path))
}

const leavingRisks: ReadonlySet<Risk> = new Set(['net', 'send', 'spend'])
function leaves(
  { tool, input, risk, isOnline, server }: PossibleSend,
  assessment: Assessment,
  state: EgressState,
): boolean {
  if (server?.reach === 'own') return false
  if (leavingRisks.has(risk) || /^(?:mcp|browser|web)_/.test(tool)) return true
  // The other session may answer in a chat.
  if (tool === 'sessions_send') return true
  if (tool === 'cronjob') return /^(?:create|update)$/.test(readText(input, 'action'))
  if (tool === 'vision_analyze') return isWebAddress(sourceOf(input))
  if (!isOnline) return false
  if (tool === 'terminal') return isSent(assessment, state)
  if (tool === 'execute_code') return readText(input, 'language') === 'python'
  return tool === 'process' && /^(?:write|submit)$/.test(readText(input, 'action'))
}

/** Code of the workspace may send something when somebody else has dictated it. */
const isSent = ({ leaves: sends, isUnjudged, runsFiles }: Assessment, { hasDictatedFiles }: EgressState): boolean =>
  sends === true || isUnjudged === true || (runsFiles === true && hasDictatedFiles())

const isWebAddress = (text: string): boolean => /^https?:/i.test(text)
