/** Speaks a text. The sound file becomes a file of the workspace and an attachment of the answer. */

import * as z from 'zod'
import { BackendError, type ExecutionBackend } from '#agent/core/backend.ts'
import { speechProviders } from '#agent/core/media/media-settings.ts'
import type { MediaMade } from '#agent/core/media/media.ts'
import type { Assessment } from '#agent/core/permission/approval.ts'
import { mediaAvailability } from '#agent/routing/media-providers.ts'
import { assessWrites } from '../assess-paths.ts'
import { defineTool } from '../define-tool.ts'
import { fail, type ToolAnswer } from '../tool-result.ts'
import { describeMade, renderMedia } from './media-result.ts'

const maxChars = 50_000

const input = z.object({
  text: z.string().min(1).max(maxChars),
  voice: z.string().min(1).max(100).optional(),
  format: z
    .enum(['mp3', 'opus', 'wav'])
    .optional()
    .describe('Default: opus in chats that show voice messages, else mp3.'),
  speed: z.number().min(0.25).max(4).optional(),
  instructions: z.string().min(1).max(4_096).optional().describe('How to speak.'),
  provider: z.enum(speechProviders).optional(),
  output_path: z.string().min(1).max(1_024).optional().describe('Also stores the file at this path.'),
})

export default defineTool({
  name: 'text_to_speech',
  toolset: 'tts',
  description:
    'Speak a text. The sound is stored in the workspace and attached to your answer, in chats as a voice message; each call costs money.',
  input,
  needs: ['media', 'backend'],
  effect: 'keyed',
  risk: () => 'spend',
  assess: ({ text, output_path: path }, { backend }) => assessSpeech(text, path, backend),
  touches: ({ output_path: path }, { backend }) => (path === undefined ? 'nothing' : [backend.resolve(path)]),
  availability: mediaAvailability('speech'),
  run: async ({ output_path: output, ...order }, { media, backend, callId, signal, authority }) => {
    const answer = await media.createSpeech(order, { callId, signal, authority })
    return answer.kind === 'made' ? renderSpeech(answer, output, backend) : renderMedia(answer)
  },
})

async function assessSpeech(text: string, path: string | undefined, backend: ExecutionBackend): Promise<Assessment> {
  const subjects = [text.slice(0, 2_000)]
  const write = path === undefined ? undefined : await assessWrites([path], backend)
  if (write?.verdict === 'ask') return { ...write, subjects: [...subjects, ...write.subjects] }
  return { verdict: 'allow', reasons: [], subjects: [...subjects, ...(write?.subjects ?? [])], rule: '*' }
}

/** As other agents name it: `media_tag` is what an answer contains to send the file. */
async function renderSpeech(
  answer: MediaMade,
  output: string | undefined,
  backend: ExecutionBackend,
): Promise<ToolAnswer> {
  const [file] = answer.files
  if (!file) return fail('There is no sound.', { success: false })
  const problem = output === undefined ? undefined : await copyFile(backend, file.path, output)
  const file_path = output === undefined || problem !== undefined ? file.path : output
  return {
    ...describeMade(answer),
    file_path,
    media_tag: `MEDIA:${file.path}`,
    voice_compatible: file.mime === 'audio/ogg',
    ...(problem !== undefined && { note: problem }),
  }
}

/** Returns why the file is not there. It is paid, so that is no failure of the call. */
async function copyFile({ files }: ExecutionBackend, from: string, to: string): Promise<string | undefined> {
  try {
    const bytes = await files.read(from)
    if (!bytes) return `It could not be copied to ${to} yet. Copy ${from} when it is there.`
    await files.write(to, bytes)
    return undefined
  } catch (error) {
    if (error instanceof BackendError) return `It could not be copied to ${to}: ${error.message}`
    throw error
  }
}
