/** Renders what was made, or started, as the result of a tool. */

import type { MediaAnswer, MediaMade } from '#agent/core/media/media.ts'
import { fail, type ToolAnswer } from '../tool-result.ts'

const startedNote = 'It is paid. A message brings it when it is ready: do not start it again.'

export function renderMedia(answer: MediaAnswer): ToolAnswer {
  if (answer.kind === 'refused') return fail(answer.error, { success: false, error_type: answer.reason })
  if (answer.kind === 'started') {
    const { workId, model } = answer
    return { success: true, status: 'started', id: workId, model, note: startedNote }
  }
  return describeMade(answer)
}

export function describeMade({ files, model, note }: MediaMade) {
  const [file] = files
  return { success: true, ...file, model, ...(note !== undefined && { note }) }
}
