/** Sends messages and files to chats of the tenant and calls its people, as the agent's own initiative. */

import * as z from 'zod'
import type { ExecutionBackend } from '#agent/core/backend.ts'
import { assessByRisk } from '#agent/policy/approval/approval.ts'
import { assessReads } from '../assess-paths.ts'
import { defineTool } from '../define-tool.ts'
import { fail } from '../tool-result.ts'
import { definePlugin, type Messages, type OutgoingFile } from './define-plugin.ts'

const maxFiles = 5
const maxFileBytes = 20 * 1024 * 1024

const input = z.object({
  action: z.enum(['send', 'list']).optional().describe('`list` shows the chats. Default: send.'),
  target: z
    .string()
    .max(200)
    .optional()
    .describe(
      'PLATFORM for its home chat, PLATFORM:CHAT, CHANNEL_ID:CHAT or either with :THREAD, as `list` shows them.',
    ),
  text: z.string().max(20_000).optional().describe('Markdown.'),
  message: z.string().max(20_000).optional().describe('Another name for text.'),
  files: z.array(z.string().min(1).max(1_000)).max(maxFiles).optional().describe('Paths of files to send along.'),
})
type Input = z.infer<typeof input>

const textOf = ({ text, message }: Input): string => (text ?? message ?? '').trim()
const isList = ({ action }: Input): boolean => action === 'list'

export default definePlugin({
  name: 'send_message',
  createTools: ({ messages }) => [
    defineTool({
      name: 'send_message',
      toolset: 'send_message',
      description:
        'Send a message, with files if needed, to a chat other than this conversation. Answers to this conversation need no tool. Use action "list" first when the target is not known exactly.',
      input,
      needs: ['backend'],
      // The chat stores the message by the id of the call, so that it arrives once.
      effect: 'keyed',
      risk: (given) => (isList(given) ? 'read' : 'send'),
      assess: async (given, { backend }) => {
        if (isList(given)) return assessByRisk('read', [])
        const { target = '', files = [] } = given
        const read = await assessReads(files, backend)
        const sent = assessByRisk('send', [target, ...read.subjects])
        return {
          ...sent,
          rule: target,
          reasons: [...sent.reasons, ...read.reasons],
          summary: `${target}\n${textOf(given)}`,
        }
      },
      touches: ({ files = [] }, { backend }) => files.map((path) => backend.resolve(path)),
      timeoutMs: () => 60_000,
      run: async (given, { backend, authority, callKey }) => {
        if (isList(given)) return { targets: await messages.list(authority) }
        return send(given, { backend, messages, authority, key: `send ${callKey}` })
      },
    }),
    createCallTool(messages),
  ],
})

const callInput = z.object({
  number: z.string().max(40).describe('With the country code, like +15550002222.'),
  brief: z
    .string()
    .trim()
    .min(1)
    .max(900)
    .describe('What to find out or to tell in the call, with all facts it needs.'),
  opening: z.string().trim().min(1).max(500).describe('The first words, which say who calls and why.'),
})

/** The brief is not known when a call rings twice, so that no call is repeated. */
const createCallTool = (messages: Messages) =>
  defineTool({
    name: 'place_call',
    toolset: 'send_message',
    description:
      'Call a person by telephone. You lead the call in a conversation of its own, by the brief. A report comes here when it has ended; do not wait for it.',
    input: callInput,
    needs: [],
    effect: 'effect',
    risk: () => 'send',
    assess: ({ number, brief, opening }) => ({
      ...assessByRisk('send', [number]),
      rule: number,
      summary: `${number}\n${opening}\n\n${brief}`,
    }),
    timeoutMs: () => 60_000,
    run: async (given, { authority, sessionId }) => {
      const called = await messages.call(authority, { ...given, sessionId })
      return 'error' in called ? fail(called.error) : { success: true, status: 'calling', number: called.number }
    },
  })

type Sending = {
  readonly backend: ExecutionBackend
  readonly messages: Messages
  readonly authority: Parameters<Messages['send']>[0]
  readonly key: string
}

async function send(given: Input, { backend, messages, authority, key }: Sending) {
  const { target, files: paths = [] } = given
  const text = textOf(given)
  if (!target) return fail('Name a target. Action "list" shows them.')
  if (!text && !paths.length) return fail('There is nothing to send: give text or files.')
  const files: OutgoingFile[] = []
  for (const path of paths) {
    const bytes = await backend.files.read(path)
    if (!bytes) return fail(`File not found: ${path}. Nothing was sent.`)
    if (bytes.length > maxFileBytes) return fail(`${path} is larger than 20 MB. Nothing was sent.`)
    files.push({ name: path.split('/').at(-1) ?? path, bytes })
  }
  const outcome = await messages.send(authority, { key, target, text, files })
  if (outcome.kind === 'failed') return fail(outcome.error)
  const { kind, platform, chat } = outcome
  return { success: true, status: kind, platform, chat, files: files.length }
}
