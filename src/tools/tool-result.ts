/** Builds the results of tools: one JSON text for the model, marked as failed or not. */

import type { ToolResult } from '#agent/core/tool.ts'

/** The return value of `run`: a ready result, or an object that becomes one JSON text. */
export type ToolAnswer = ToolResult | Readonly<Record<string, unknown>>

const jsonResult = (value: object, failed: boolean): ToolResult => ({
  content: [{ type: 'text', text: JSON.stringify(value) }],
  failed,
})

/** An expected failure: `error` names the problem and the next step. */
export const fail = (error: string, details: Readonly<Record<string, unknown>> = {}): ToolResult =>
  jsonResult({ error, ...details }, true)

/** A complete answer that counts as a failure, such as a command that exited with 1. */
export const failWith = (answer: Readonly<Record<string, unknown>>): ToolResult => jsonResult(answer, true)

export const resultOf = (answer: ToolAnswer): ToolResult => (isResult(answer) ? answer : jsonResult(answer, false))

const isResult = (answer: object): answer is ToolResult =>
  'later' in answer || ('content' in answer && 'failed' in answer)
