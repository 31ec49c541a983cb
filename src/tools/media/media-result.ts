/** Renders what was made as the result of a tool. */

import type { MediaAnswer } from '../../agent/model/media/media.ts'
import { fail, type ToolAnswer } from '../tool-result.ts'

export function renderMedia(answer: MediaAnswer): ToolAnswer {
  if (answer.kind === 'refused') return fail(answer.error, { success: false, error_type: answer.reason })
  const [file] = answer.files
  const { note } = answer
  return { success: true, ...file, model: answer.model, ...(note !== undefined && { note }) }
}
