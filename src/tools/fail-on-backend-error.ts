/** Turns a `BackendError` into a failed result for the model. Other errors are defects and are thrown on. */

import { BackendError } from '#agent/core/backend.ts'
import type { ToolResult } from '#agent/core/tool.ts'
import { fail } from './tool-result.ts'

export async function failOnBackendError<T>(work: () => Promise<T>): Promise<T | ToolResult> {
  try {
    return await work()
  } catch (error) {
    if (!(error instanceof BackendError)) throw error
    return fail([error.message, error.hint].filter(Boolean).join(' '), { code: error.code })
  }
}
