/** Holds the texts of a tool that a person approves, and compares two versions of them. */

import type { JsonObject } from '#agent/core/parse-json.ts'

/** The fields that a person approves: another hash of them is another tool. */
export type ToolTexts = {
  readonly title?: string
  readonly description: string
  readonly input_schema: JsonObject
  readonly output_schema?: JsonObject
  readonly annotations?: JsonObject
}

export type ListedTool = ToolTexts & {
  /** The server's name. */
  readonly tool: string
  /** Of the name and the texts. */
  readonly hash: string
  /** A server of 2025-11-25 runs it as a task only. It is no text, so it is not part of the hash. */
  readonly is_task?: true
  /** Why the tool cannot be called at all. */
  readonly invalid?: string
  /** Why its texts look like an attack. */
  readonly attack?: string
}

export type ToolDiff = Readonly<Record<string, { readonly before: unknown; readonly after: unknown }>>

const compared = ['title', 'description', 'input_schema', 'output_schema', 'annotations'] as const

export const listDifferences = (before: ToolTexts, after: ToolTexts): ToolDiff =>
  Object.fromEntries(
    compared
      .filter((field) => JSON.stringify(before[field]) !== JSON.stringify(after[field]))
      .map((field) => [field, { before: before[field] ?? null, after: after[field] ?? null }]),
  )
