/**
 * Implements the model `demo/agent`: a small set of rules, not a language model. It maps a few phrases to tools and reports
 * their results, so that the whole system can be tried without a key or a network.
 */

import type { Dialect, ModelRequest } from '#agent/core/dialect.ts'
import { type AssistantMessage, callsIn, type Message, textIn } from '#agent/core/message.ts'
import { noUsage } from '#agent/core/usage.ts'
import { dropFenced, removeFences } from '#agent/untrusted/fence.ts'

type ToolRequest = { readonly tool: string; readonly input: Readonly<Record<string, unknown>> }
type DemoRule = readonly [pattern: RegExp, createRequest: (...words: string[]) => ToolRequest]

const rules: readonly DemoRule[] = [
  [/^run:\s*([\s\S]+)$/i, (command) => ({ tool: 'terminal', input: { command } })],
  [/^write\s+(\S+?):\s?([\s\S]*)$/i, (path, content) => ({ tool: 'write_file', input: { path, content } })],
  [/^read\s+(\S+)\s*$/i, (path) => ({ tool: 'read_file', input: { path } })],
  [/^remember:\s*([\s\S]+)$/i, (content) => ({ tool: 'memory', input: { target: 'memory', action: 'add', content } })],
  [/^recall:\s*([\s\S]+)$/i, (query) => ({ tool: 'session_search', input: { query } })],
  [
    /^(every\s+\d+[mhd]):\s*([\s\S]+)$/i,
    (schedule, prompt) => ({ tool: 'cronjob', input: { action: 'create', schedule: schedule?.toLowerCase(), prompt } }),
  ],
  [/^delegate:\s*([\s\S]+)$/i, (goal) => ({ tool: 'delegate_task', input: { goal } })],
  [/^ask:\s*([\s\S]+)$/i, (question) => ({ tool: 'clarify', input: { question } })],
]

const phrases: readonly (readonly [tool: string, phrase: string])[] = [
  ['terminal', 'run: CMD'],
  ['write_file', 'write PATH: TEXT'],
  ['read_file', 'read PATH'],
  ['memory', 'remember: FACT'],
  ['session_search', 'recall: WORDS'],
  ['cronjob', 'every 30m: PROMPT'],
  ['delegate_task', 'delegate: GOAL'],
  ['clarify', 'ask: QUESTION'],
]

/** Lists only the phrases whose tool is available. */
function renderHelp(tools: ModelRequest['tools']): string {
  const available = phrases.filter(([tool]) => tools.some(({ name }) => name === tool)).map(([, phrase]) => phrase)
  return [
    'I am demo/agent, a small rule-based stand-in and not a language model.',
    ...(available.length ? [`I understand: ${available.join(' · ')}.`] : []),
    ...(available.includes('ask: QUESTION')
      ? ['After ask: I wait, and your next message in this chat is the answer.']
      : []),
    'Set a provider key such as OPENAI_API_KEY to talk to a real model.',
  ].join(' ')
}

/** The delay between two words, so that streaming is visible. */
const wordDelayMs = 12

export const demo: Dialect = {
  async call(request, _endpoint, { onDelta, onActivity, sleep, signal }) {
    const message = createReply(request)
    for (const word of textIn(message).match(/\S+\s*/g) ?? []) {
      signal.throwIfAborted()
      onDelta({ of: 'text', text: word })
      onActivity()
      await sleep(wordDelayMs)
    }
    return { message, usage: noUsage }
  },
}

export function createReply({ transcript, tools, instruction }: ModelRequest): AssistantMessage {
  const lastUserIndex = transcript.findLastIndex(isRequest)
  const results = transcript.slice(lastUserIndex + 1).filter((message) => message.role === 'tool')
  if (results.length) return createText(results.map(reportResult).join('\n\n'))
  const userMessage = lastUserIndex < 0 ? '' : readRequest(transcript[lastUserIndex] as Message)
  if (instruction !== undefined && !tools.length) return createText(`You said: ${userMessage}`)
  const toolRequest = matchRule(userMessage)
  const help = renderHelp(tools)
  if (!toolRequest) return createText(userMessage ? `You said: ${userMessage}\n\n${help}` : help)
  if (!tools.some(({ name }) => name === toolRequest.tool))
    return createText(`That needs the tool ${toolRequest.tool}, which is not available here.\n\n${help}`)
  return createToolCall(toolRequest, transcript)
}

const isRequest = (message: Message): boolean =>
  message.role === 'user' && (message.source === undefined || message.source === 'subagent')

/** A subagent gets its goal in the first paragraphs of a longer message. What stands fenced behind it is no request. */
function readRequest(message: Message): string {
  const text = dropFenced(textIn(message)).trim()
  return /^Goal:\n([\s\S]+?)\n\n(?:Context|Workspace):/.exec(text)?.[1] ?? text
}

function matchRule(userMessage: string): ToolRequest | undefined {
  for (const [pattern, createRequest] of rules) {
    const match = pattern.exec(userMessage)
    if (match) return createRequest(...match.slice(1))
  }
  return undefined
}

const createText = (text: string): AssistantMessage => ({
  role: 'assistant',
  content: [{ type: 'text', text }],
  stop: 'end',
})

function createToolCall({ tool, input }: ToolRequest, transcript: readonly Message[]): AssistantMessage {
  const callCount = transcript.reduce(
    (sum, message) => sum + (message.role === 'assistant' ? callsIn(message).length : 0),
    0,
  )
  return {
    role: 'assistant',
    content: [{ type: 'call', id: `demo_${callCount + 1}`, name: tool, input }],
    stop: 'tools',
  }
}

const reportResult = (message: Message) =>
  message.role === 'tool' ? `${message.name} returned:\n${removeFences(textIn(message))}` : ''
