/** Renders a pending request as a message with buttons, and parses the data of a pressed button. */

import { listApprovalChoices } from '../../agent/model/permission/approval.ts'
import type { Button, MessageChunk } from '../../agent/model/delivery.ts'
import { maskSecrets } from '../../agent/model/secrets/mask-secrets.ts'
import type { PersonRequest } from '../../agent/model/pending-request.ts'

type PendingRequestMessage = {
  readonly text: string
  readonly buttons: readonly (readonly Button[])[]
  /** The answer that each button stands for, in the order of the buttons. */
  readonly choices: readonly string[]
}

const labels = { once: 'Allow once', session: 'Allow in this session', always: 'Always allow', deny: 'Deny' } as const
const maxLabelChars = 60

/** Others than who may approve read along in a group. */
export const maskPendingRequest = (pending: PersonRequest): PersonRequest =>
  pending.kind === 'approval' ? { ...pending, input: maskSecrets(pending.input) } : pending

/** `mayChangePolicy`: who is asked may allow the call always. */
export function renderPendingRequest(pending: PersonRequest, mayChangePolicy: boolean): PendingRequestMessage {
  if (pending.kind === 'question') {
    const { question, choices } = pending
    const hint = choices.length ? 'Press a button, or write an answer.' : 'Write an answer.'
    return { text: `${question}\n\n${hint}`, choices, buttons: choices.map((choice, n) => [buttonOf(choice, n)]) }
  }
  const { tool, input, reasons, rule } = pending
  const choices = listApprovalChoices(rule, mayChangePolicy)
  const why = reasons.length ? `\nWhy this is asked: ${reasons.join('; ')}` : ''
  return {
    text: `May ${tool} be called with this?\n\n${input}\n${why}\n\nPress a button, or write /approve or /deny with a reason. Other words approve nothing.`,
    choices,
    buttons: choices.map((choice, n) => [buttonOf(labels[choice], n)]),
  }
}

const buttonOf = (label: string, n: number): Button => ({
  label: [...label].slice(0, maxLabelChars).join(''),
  data: `${n}`,
})

/**
 * Adds the number of the outbox row to the data of each button. The row holds the rest: platforms return only a few
 * bytes (Telegram 64).
 */
export const withRowNumber = (chunk: MessageChunk, row: number): MessageChunk =>
  chunk.buttons
    ? {
        ...chunk,
        buttons: chunk.buttons.map((line) => line.map(({ label, data }) => ({ label, data: `ask:${row}:${data}` }))),
      }
    : chunk

/** Returns undefined for data that no button of ours carries. */
export function parseButtonData(data: string): { readonly row: number; readonly choice: number } | undefined {
  const [, row, choice] = /^ask:(\d{1,15}):(\d{1,3})$/.exec(data) ?? []
  return row === undefined ? undefined : { row: Number(row), choice: Number(choice) }
}
