/** Tests a compression up to its commit, with side calls that a test answers. */

import { describe, expect, it } from 'vitest'
import type { FailureKind } from '#agent/core/failure.ts'
import type { Entry } from '#agent/core/history.ts'
import { type Message, textIn, userText } from '#agent/core/message.ts'
import { noUsage } from '#agent/core/usage.ts'
import { createSummaryMessage } from '#agent/prompt/compression/summary-message.ts'
import { estimateMessageTokens } from '#agent/prompt/estimate-tokens.ts'
import type { SideCallRequest } from '#durable/models/side-call.ts'
import { collectCarryOver } from '#durable/turn/compression/carry-over.ts'
import { summarise, type SummariseContext } from '#durable/turn/compression/summarise.ts'

const entry = (seq: number, message: Message): Entry => ({
  id: `msg_${seq}`,
  seq,
  runId: `run_${seq}`,
  at: 0,
  tokens: estimateMessageTokens(message),
  message,
})
const secret = 'sk-live-0123456789'
const said = (text: string): Message => ({ role: 'assistant', content: [{ type: 'text', text }], stop: 'end' })
const called = (id: string, name: string, input: unknown): Message => ({
  role: 'assistant',
  content: [{ type: 'call', id, name, input }],
  stop: 'tools',
})
const result = (callId: string, name: string): Message => ({
  role: 'tool',
  callId,
  name,
  content: [{ type: 'text', text: 'ok' }],
  failed: false,
})
const conversation = [
  userText(`the key is ${secret}`),
  called('1', 'terminal', { command: `curl -H ${secret} example.org` }),
  result('1', 'terminal'),
  called('2', 'read_file', { path: 'a' }),
  result('2', 'read_file'),
  said('words '.repeat(500)),
  userText('and now?'),
  said('next'),
  userText('the current request'),
].map((message, i) => entry(i + 1, message))

type Answer = string | FailureKind
function contextWith(answer: (request: string) => Answer, more: Partial<SummariseContext> = {}) {
  const requests: (SideCallRequest & { readonly text: string })[] = []
  const context: SummariseContext = {
    entries: conversation,
    boundaries: { protectFirst: 0, protectLast: 3, tailTokens: 10_000 },
    mask: (text) => text.replaceAll(secret, '[REDACTED]'),
    hasEffect: (name) => name === 'terminal',
    carryOver: (effects) => collectCarryOver({ session: { meta: { todos: [] } } as never, effects, maxChars: 8_000 }),
    side: async (_task, request) => {
      const messages = typeof request.transcript === 'function' ? request.transcript(1e6) : request.transcript
      const text = messages.map(textIn).join('\n')
      requests.push({ ...request, text })
      const given = answer(text)
      return given.startsWith('## ')
        ? { kind: 'answered', text: given, model: 'm', usage: noUsage }
        : { kind: 'failed', failure: { kind: given as FailureKind, message: '' }, usage: noUsage }
    },
    ...more,
  }
  return { context, requests }
}

describe('a summary', () => {
  it('replaces the older messages and lists the calls that had an effect', async () => {
    const { context, requests } = contextWith(() => '## Goal: a')
    const done = await summarise(context)
    expect(done).toMatchObject({
      of: 'summary',
      summary: {
        text: '## Goal: a',
        covers: 6,
        effects: ['terminal {"command":"curl -H [REDACTED] example.org"} → done'],
        carried: [expect.stringContaining('Do not repeat')],
      },
    })
    expect(done.of === 'summary' && done.savedTokens).toBeGreaterThan(500)
    expect(requests[0]?.maxTokens).toBe(4_000)
  })

  it('CP6: neither gets nor keeps a secret of the conversation', async () => {
    const { context, requests } = contextWith(() => `## Facts: the key is ${secret}`, { focus: `the key ${secret}` })
    const done = await summarise(context)
    expect(JSON.stringify([requests, done])).not.toContain(secret)
    expect(JSON.stringify(done)).toContain('the key is [REDACTED]')
  })

  it('updates the one before, and keeps its list of calls', async () => {
    const earlier = {
      ...entry(20, createSummaryMessage('## Goal: before')),
      covers: 10,
      effects: ['terminal {"command":"make"} → done'],
    }
    const { context, requests } = contextWith(() => '## Goal: after')
    const later = conversation.map((one) => ({ ...one, seq: one.seq + 20 }))
    const done = await summarise({ ...context, entries: [earlier, ...later] })
    expect(requests[0]?.text).toMatch(
      /^The record so far:\n## Goal: before\n\nThe messages since then:\n\[user\] the key is/,
    )
    expect(done).toMatchObject({
      summary: { covers: 26, effects: ['terminal {"command":"make"} → done', expect.stringContaining('curl')] },
    })
  })

  it('is not used when it is as long as what it replaces', async () => {
    const { context } = contextWith(() => `## Goal: ${'many words '.repeat(600)}`)
    expect(await summarise(context)).toEqual({ of: 'nothing' })
  })

  it('is not requested when there is nothing to replace', async () => {
    const { context, requests } = contextWith(() => '## Goal: a', { entries: conversation.slice(-1) })
    expect(await summarise(context)).toEqual({ of: 'nothing' })
    expect(requests).toEqual([])
  })
})

describe('CP3: without a model that answers', () => {
  it.each(['auth', 'key-dead', 'forbidden', 'unconfigured', 'network', 'aborted'] as const)(
    'nothing is replaced: %s',
    async (kind) => {
      expect(await summarise(contextWith(() => kind).context)).toEqual({
        of: 'failure',
        failure: { kind, message: '' },
      })
    },
  )

  it.each(['quota', 'refused', 'too-long', 'malformed', 'server'] as const)(
    'an excerpt of at most 8,000 characters replaces the messages: %s',
    async (kind) => {
      const done = await summarise(contextWith(() => kind).context)
      expect(done).toMatchObject({ of: 'summary', fallback: kind, summary: { covers: 6 } })
      const text = done.of === 'summary' ? done.summary.text : ''
      expect(text).toMatch(/^No summary could be written[^]*the key is \[REDACTED\]/)
      expect(text.length).toBeLessThanOrEqual(8_000)
    },
  )
})

describe('what is carried over', () => {
  const session = {
    meta: {
      todos: [
        { id: '1', content: 'write the parser', status: 'in_progress' },
        { id: '2', content: 'read the grammar', status: 'completed' },
        { id: '3', content: 'test it', status: 'pending' },
      ],
    },
  } as never

  it('are the open todos and the calls with effects', async () => {
    expect(await collectCarryOver({ session, effects: ['write_file {"path":"a"} → done'], maxChars: 8_000 })).toEqual([
      'The todo list, without what is done or cancelled:\n- [in_progress] 1: write the parser\n- [pending] 3: test it',
      expect.stringMatching(/Do not repeat[^]*- write_file/),
    ])
  })

  it('may come from sources that wait, and does not depend on those that fail', async () => {
    const sources = [() => Promise.reject(new Error('gone')), async () => 'the goal', () => undefined]
    expect(await collectCarryOver({ session, effects: [], maxChars: 10 }, sources)).toEqual(['the goal'])
  })
})
