/**
 * `demo/agent`: a small rule-based stand-in, not a language model. It maps a few phrases to tools and
 * reports what they returned, so that the whole system can be tried without a key or a network.
 */

import type { Dialect, ModelRequest } from '../../model/dialect.ts'
import { type AssistantMessage, callsIn, type Message, textIn } from '../../model/message.ts'
import { noUsage } from '../../model/usage.ts'

type Wish = { readonly tool: string; readonly input: Readonly<Record<string, unknown>> }
type Rule = readonly [pattern: RegExp, wish: (...words: string[]) => Wish]

const rules: readonly Rule[] = [
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

/** Only what would work is offered. */
function helpFor(tools: ModelRequest['tools']): string {
  const offered = phrases.filter(([tool]) => tools.some(({ name }) => name === tool)).map(([, phrase]) => phrase)
  return [
    'I am demo/agent, a small rule-based stand-in and not a language model.',
    ...(offered.length ? [`I understand: ${offered.join(' · ')}.`] : []),
    'Set a provider key such as OPENAI_API_KEY to talk to a real model.',
  ].join(' ')
}

/** Between two words, so that streaming can be seen. */
const paceMs = 12

export const demo: Dialect = {
  async call(request, _endpoint, { hear, pulse, sleep, signal }) {
    const message = answer(request)
    for (const word of textIn(message).match(/\S+\s*/g) ?? []) {
      signal.throwIfAborted()
      hear({ of: 'text', text: word })
      pulse()
      await sleep(paceMs)
    }
    return { message, usage: noUsage }
  },
}

export function answer({ transcript, tools, say }: ModelRequest): AssistantMessage {
  const lastUser = transcript.findLastIndex((message) => message.role === 'user' && !message.source)
  const results = transcript.slice(lastUser + 1).filter((message) => message.role === 'tool')
  if (results.length) return speak(results.map(report).join('\n\n'))
  const said = lastUser < 0 ? '' : textIn(transcript[lastUser] as Message).trim()
  if (say !== undefined && !tools.length) return speak(`You said: ${said}`)
  const wish = wishOf(said)
  const help = helpFor(tools)
  if (!wish) return speak(said ? `You said: ${said}\n\n${help}` : help)
  if (!tools.some(({ name }) => name === wish.tool))
    return speak(`That needs the tool ${wish.tool}, which is not available here.\n\n${help}`)
  return askFor(wish, transcript)
}

function wishOf(said: string): Wish | undefined {
  for (const [pattern, wish] of rules) {
    const match = pattern.exec(said)
    if (match) return wish(...match.slice(1))
  }
  return undefined
}

const speak = (text: string): AssistantMessage => ({
  role: 'assistant',
  content: [{ type: 'text', text }],
  stop: 'end',
})

function askFor({ tool, input }: Wish, transcript: readonly Message[]): AssistantMessage {
  const before = transcript.reduce(
    (sum, message) => sum + (message.role === 'assistant' ? callsIn(message).length : 0),
    0,
  )
  return {
    role: 'assistant',
    content: [{ type: 'call', id: `demo_${before + 1}`, name: tool, input }],
    stop: 'tools',
  }
}

const report = (message: Message) => (message.role === 'tool' ? `${message.name} returned:\n${textIn(message)}` : '')
