/** Renders a pending request as a message with buttons, and parses the data of a pressed button. */

import { describeRule, listApprovalChoices } from '#agent/core/permission/approval.ts'
import type { Button, ChatOrigin, MessageChunk, OnBehalf, PersonChoices } from '#agent/core/delivery.ts'
import { maskSecrets } from '#agent/core/secrets/mask-secrets.ts'
import type { PersonRequest } from '#agent/core/pending-request.ts'

type PendingRequestMessage = {
  readonly text: string
  readonly buttons: readonly (readonly Button[])[]
  /** The answer that each button stands for, in the order of the buttons. */
  readonly choices: readonly string[]
}

const labels = { once: 'Allow once', session: 'Allow in session', always: 'Always allow', deny: 'Deny' } as const

/** Others than who may approve read along in a group. */
export const maskPendingRequest = (pending: PersonRequest): PersonRequest =>
  pending.kind === 'approval'
    ? {
        ...pending,
        input: maskSecrets(pending.input),
        ...(pending.rule !== undefined && { rule: maskSecrets(pending.rule) }),
      }
    : pending

type AskedPerson = {
  /** Whether the person who is asked may allow the call always. */
  readonly mayChangePolicy: boolean
  /** The sign that begins a command on the platform. */
  readonly prefix: string
}

export function renderPendingRequest(
  pending: PersonRequest,
  { mayChangePolicy, prefix }: AskedPerson,
): PendingRequestMessage {
  if (pending.kind === 'question') {
    const { question, choices } = pending
    const hint = choices.length ? 'Press a button, or write an answer.' : 'Write an answer.'
    return { text: `${question}\n\n${hint}`, choices, buttons: choices.map((choice, n) => [buttonOf(choice, n)]) }
  }
  const { tool, input, reasons, rule } = pending
  const choices = listApprovalChoices(rule, mayChangePolicy)
  const why = reasons.length ? `\nWhy this is asked: ${reasons.join('; ')}` : ''
  const lasting = mayChangePolicy ? 'For this session or always' : 'For this session'
  const scope = rule === undefined ? '' : `\n${lasting}, you allow ${describeRule(tool, rule)}.`
  return {
    text: `May ${tool} be called with this?\n\n${input}\n${why}${scope}\n\nPress a button, or write ${prefix}approve or ${prefix}deny with a reason. Other words approve nothing.`,
    choices,
    buttons: choices.map((choice, n) => [buttonOf(labels[choice], n)]),
  }
}

/** Commands as buttons. No request waits for the press, so that none is named. */
export const renderPicks = (text: string, { of, person }: PersonChoices) => ({
  chunk: { text: '', spans: [], buttons: of.map(({ label }, n) => [buttonOf(label, n)]) },
  source: { text: `${text}\n\nPress a button, or write the command.`, format: 'plain' as const },
  asks: { request: '', person, choices: of.map(({ command }) => command) },
})

/** An answer that a person sees first, and sends in their own name. */
export const renderDraft = (text: string, { name, chat, canSend }: OnBehalf, person = '') => {
  const choices = canSend ? ['Send', 'Edit', 'Discard'] : ['Edit', 'Discard']
  const note = canSend ? '' : '\n\n(This bot may not send it: give it the right to reply in the settings of Telegram.)'
  return {
    chunk: { text: '', spans: [], buttons: [choices.map(buttonOf)] },
    source: { text: `Draft for ${name} [${chat}]:\n\n${text}${note}`, format: 'markdown' as const },
    asks: { request: '', person, choices, draft: text },
  }
}

const buttonOf = (label: string, n: number): Button => ({ label, data: `${n}` })

/** Platforms return only a few bytes (Telegram 64): a longer id of a person is left out. */
const maxOwnerChars = 40

/**
 * Adds the number of the outbox row to the data of each button; the row holds the rest. `owner`: the person whose own
 * session of a group asks, so that a press finds it.
 */
export const withRowNumber = (chunk: MessageChunk, row: number, owner?: string): MessageChunk =>
  chunk.buttons
    ? {
        ...chunk,
        buttons: chunk.buttons.map((line) =>
          line.map(({ label, data }) => ({ label, data: `ask:${row}:${data}${ownerPart(owner)}` })),
        ),
      }
    : chunk

const ownerPart = (owner: string | undefined): string =>
  owner !== undefined && owner.length <= maxOwnerChars ? `:${owner}` : ''

const buttonPattern = new RegExp(`^ask:(\\d{1,15}):(\\d{1,3})(?::(.{1,${maxOwnerChars}}))?$`, 's')

/** Returns undefined for data that no button of ours carries. */
export function parseButtonData(data: string): { readonly row: number; readonly choice: number } | undefined {
  const [, row, choice] = buttonPattern.exec(data) ?? []
  return row === undefined ? undefined : { row: Number(row), choice: Number(choice) }
}

/** The key of the session that a button belongs to: the person of a group, or the chat that drafts are for. */
export const ownerOf = ({ person, onBehalf }: ChatOrigin): string | undefined =>
  onBehalf ? `~${onBehalf.chat}` : person

/** The person whose own session of a group shows the button. */
export const ownerOfButton = (data: string): string | undefined => buttonPattern.exec(data)?.[3]
