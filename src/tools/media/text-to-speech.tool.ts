/** Speaks a text. The sound file becomes a file of the workspace and an attachment of the answer. */

import * as z from 'zod'
import { mediaAvailability } from '../../agent/routing/media-vendors.ts'
import { defineTool } from '../define-tool.ts'
import { renderMedia } from './media-result.ts'

const maxChars = 50_000

const input = z.object({
  text: z.string().min(1).max(maxChars),
  voice: z.string().min(1).max(100).optional(),
  format: z
    .enum(['mp3', 'opus', 'wav'])
    .optional()
    .describe('Default: opus in chats that show voice messages, else mp3.'),
})

export default defineTool({
  name: 'text_to_speech',
  toolset: 'tts',
  description:
    'Speak a text. The sound is stored in the workspace and attached to your answer, in chats as a voice message; each call costs money.',
  input,
  needs: ['media'],
  effect: 'keyed',
  risk: () => 'spend',
  assess: ({ text }) => ({ verdict: 'allow', reasons: [], subjects: [text.slice(0, 2_000)], rule: '*' }),
  touches: () => 'nothing',
  availability: mediaAvailability('speech'),
  run: async (order, { media, callId, signal, authority }) =>
    renderMedia(await media.createSpeech(order, { callId, signal, authority })),
})
