/** Renders what a run waits for as a text that ends an answer and says how to go on. Parses the commands it names. */

import { type ApprovalAnswer, describeRule } from '#agent/core/permission/approval.ts'
import type { ApprovalRequest, PersonRequest } from '#agent/core/pending-request.ts'
import { maskSecrets } from '#agent/core/secrets/mask-secrets.ts'
import { parseCommand } from '#agent/policy/slash-command/parse-command.ts'

type ShownRequest = PersonRequest & { readonly id: string }
type ShownApproval = Extract<ShownRequest, { kind: 'approval' }>

const maxInputChars = 4_000

/** `mayApprove`: the reader's next message may decide. Others see the input with secrets masked. */
export function renderWaitingText(pending: readonly ShownRequest[], mayApprove: boolean): string {
  const approvals = pending.filter((one) => one.kind === 'approval')
  const questions = pending.filter((one) => one.kind === 'question')
  const parts = [
    ...approvals.map((one, n) => renderApproval(one, approvals.length > 1 ? `${n + 1}. ` : '', mayApprove)),
    ...(approvals.length ? [renderChoices(approvals, mayApprove)] : []),
    ...questions.map(({ question, choices }) => renderQuestion(question, choices)),
    ...(questions.length ? [renderHint(questions.length)] : []),
  ]
  return parts.join('\n\n')
}

function renderApproval({ tool, input, reasons, rule }: ApprovalRequest, number: string, mayApprove: boolean): string {
  const shown = mayApprove ? input : maskSecrets(input)
  const text = shown.length > maxInputChars ? `${shown.slice(0, maxInputChars)}…` : shown
  const why = reasons.length ? `\nWhy this is asked: ${reasons.join('; ')}` : ''
  const scope =
    mayApprove && rule !== undefined ? `\n\`session\` and \`always\` allow ${describeRule(tool, rule)}.` : ''
  return `${number}Waiting for approval: may ${tool} be called with this?\n\n${text}\n${why}${scope}`.trimEnd()
}

function renderChoices(approvals: readonly ShownApproval[], mayApprove: boolean): string {
  const [first] = approvals
  if (!mayApprove)
    return `This key may not approve. Someone with the scope \`approve\` decides: on the page of this server, or with ${approvals
      .map(({ id }) => `POST /api/approvals/${id}`)
      .join(', ')}. Ask again afterwards.`
  const lasting = first?.rule === undefined ? '' : ', `/approve session`, `/approve always`'
  const several =
    approvals.length > 1 ? ' They are decided in this order; `/approve all` and `/deny all` decide all.' : ''
  return `Answer \`/approve\`${lasting} or \`/deny REASON\`.${several}`
}

const renderQuestion = (question: string, choices: readonly string[]): string =>
  choices.length ? `${question}\n\n${choices.map((choice) => `- ${choice}`).join('\n')}` : question

const renderHint = (count: number): string =>
  count > 1 ? 'Your next message answers the first of these questions.' : 'Your next message is the answer.'

/** A decision that a message consists of. `all`: it is about every pending approval. */
export type TypedDecision = ApprovalAnswer & { readonly all: boolean }

const maxCommandChars = 4_000
const choices = ['once', 'session', 'always'] as const

/** Undefined for a text that is no decision: only the exact commands decide. */
export function parseDecision(text: string): TypedDecision | undefined {
  if (text.length > maxCommandChars) return undefined
  const command = parseCommand(text)
  if (command?.name !== 'approve' && command?.name !== 'deny') return undefined
  const words = command.text.split(/\s+/)
  const all = words[0]?.toLowerCase() === 'all'
  const rest = (all ? words.slice(1) : words).join(' ')
  if (command.name === 'deny') return { decision: 'deny', all, ...(rest && { reason: rest }) }
  const decision = choices.find((choice) => choice === (rest.toLowerCase() || 'once'))
  return decision && { decision, all }
}
