/** What waits for a person, as a message with buttons, and what a press of one of them means. */

import { choicesFor } from '../../agent/model/approval.ts'
import type { Button, Chunk } from '../../agent/model/delivery.ts'
import type { Waiting } from '../tenant/tenant-object.ts'

export type Ask = {
  readonly text: string
  readonly buttons: readonly (readonly Button[])[]
  /** What each button stands for, in their order. */
  readonly choices: readonly string[]
}

const labels = { once: 'Allow once', session: 'Allow in this session', always: 'Always allow', deny: 'Deny' } as const
const longestLabel = 60

export function askOf(waits: Waiting): Ask {
  if (waits.kind === 'question') {
    const { question, choices } = waits
    const hint = choices.length ? 'Press a button, or write an answer.' : 'Write an answer.'
    return { text: `${question}\n\n${hint}`, choices, buttons: choices.map((choice, n) => [buttonOf(choice, n)]) }
  }
  const { tool, input, reasons, rule } = waits
  const choices = choicesFor(rule)
  const why = reasons.length ? `\nWhy this is asked: ${reasons.join('; ')}` : ''
  return {
    text: `May ${tool} be called with this?\n\n${input}\n${why}\n\nOnly a button answers this; words do not.`,
    choices,
    buttons: choices.map((choice, n) => [buttonOf(labels[choice], n)]),
  }
}

const buttonOf = (label: string, n: number): Button => ({
  label: [...label].slice(0, longestLabel).join(''),
  data: `${n}`,
})

/** Buttons carry the row they belong to: what a platform gives back is short. */
export const addressedTo = (chunk: Chunk, row: number): Chunk =>
  chunk.buttons
    ? {
        ...chunk,
        buttons: chunk.buttons.map((line) => line.map(({ label, data }) => ({ label, data: `ask:${row}:${data}` }))),
      }
    : chunk

export function pressedIn(data: string): { readonly row: number; readonly n: number } | undefined {
  const [, row, n] = /^ask:(\d{1,15}):(\d{1,3})$/.exec(data) ?? []
  return row === undefined ? undefined : { row: Number(row), n: Number(n) }
}
