/** Asks a model that sees video about one. */

import * as z from 'zod'
import { mediaAvailability } from '#agent/routing/media-providers.ts'
import { defineTool } from '../define-tool.ts'
import { fail } from '../tool-result.ts'
import { assessSpending } from './assess-spending.ts'

const input = z.object({
  video_url: z.string().min(1).max(4_000).describe('An http or https address, or a path of the workspace.'),
  question: z.string().min(1).max(8_000),
})

export default defineTool({
  name: 'video_analyze',
  toolset: 'video',
  description: 'Watch a video file (MP4, MOV, WebM, at most 14 MB and an hour) and answer a question about it.',
  input,
  needs: ['media', 'backend'],
  effect: 'keyed',
  risk: () => 'spend',
  assess: ({ video_url: source, question }, { backend }) => assessSpending(question, [source], backend),
  touches: () => 'nothing',
  availability: mediaAvailability('analysis'),
  run: async ({ video_url: source, question }, { media, callId, signal, authority }) => {
    const answer = await media.analyzeVideo({ source, question }, { callId, signal, authority })
    if (answer.kind === 'refused') return fail(answer.error, { success: false, error_type: answer.reason })
    return { success: true, analysis: answer.text, model: answer.model }
  },
})
