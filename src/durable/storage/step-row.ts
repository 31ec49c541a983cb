/** Decides which row of a session takes the next message. */

import type { Entry } from '#agent/core/history.ts'
import { importRunId, type StepRow } from './journal.ts'

/** Imported messages have no steps, so their rows are filled by size. */
const maxImportRowChars = 32 * 1024

/** Whether the newest row takes the entry: a row ends with the model's reply. */
export const isRowOf = (row: StepRow, { runId }: Entry): boolean =>
  row.runId === runId && (runId === importRunId ? charsOf(row) < maxImportRowChars : !isAnswered(row))

const isAnswered = (row: StepRow) => row.entries.at(-1)?.message.role === 'assistant'
const charsOf = (row: StepRow) => row.texts.reduce((sum, text) => sum + text.length, 0)
