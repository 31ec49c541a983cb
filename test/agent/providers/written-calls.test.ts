/** Tests that calls come out of every dialect, and go into its next request, as the model wrote them. */

import { describe, expect, it } from 'vitest'
import type { ModelRequest } from '#agent/core/dialect.ts'
import { argumentsOf, callsIn, userText } from '#agent/core/message.ts'
import { bedrockConverse } from '#agent/providers/bedrock/bedrock.ts'
import { encodeToolName } from '#agent/providers/shared/call-id.ts'
import { repairReplies } from '#agent/providers/shared/repair-reply.ts'
import { anthropic } from '#backends/dialects/anthropic.ts'
import { openaiChat, openaiResponses } from '#backends/dialects/openai.ts'
import type { DialectHarness } from './support/conformance.ts'
import { exchangeOverHttp } from './support/exchange.ts'
import { type AnsweringDialect, streamedAnswers, wholeAnswers, type WrittenCall } from './support/call-answers.ts'
import { dialectHarnesses } from './support/dialects.ts'

const exchanges: Readonly<Record<AnsweringDialect, DialectHarness['exchange']>> = {
  'openai-chat': exchangeOverHttp(repairReplies(openaiChat)),
  'openai-responses': exchangeOverHttp(repairReplies(openaiResponses)),
  anthropic: exchangeOverHttp(repairReplies(anthropic)),
  'bedrock-converse': exchangeOverHttp(repairReplies(bedrockConverse((request) => fetch(request))), {
    key: 'AKIAEXAMPLE:secret',
  }),
}

/** The calls of one reply each: names of any form, and JSON in every way in which it is written. */
const replies: Readonly<Record<string, readonly (readonly [name: string, json: string])[]>> = {
  'spaces and lines': [
    ['roll', '{"sides": 6, "times": 2}'],
    ['roll', '{\n  "sides": 6,\n  "times": 2\n}'],
    ['roll', '{"sides":6,"times":2}'],
  ],
  'equal calls': [
    ['roll', '{"sides":6}'],
    ['roll', '{"sides":6}'],
  ],
  'numbers that JavaScript rounds': [
    ['transfer', '{"account":1234567890123456789,"amount":5.0,"most":1e400,"least":-0.0,"next":9007199254740993}'],
    ['transfer', '{"rates":[0.10,1.50,[2E+5]],"deep":{"id":18446744073709551615}}'],
  ],
  'escapes and keys': [
    ['note', String.raw`{"text":"caf\u00e9 \/ \"q\" \\ \ud83d\ude00","10":1,"2":2,"__proto__":{"a":1.0}}`],
    ['note', '{"text":"café 😀 \u2028 {}[]:,","a":{"input":{"input":{}}}}'],
    ['note', '{}'],
  ],
  'names with dots, colons and slashes': [
    ['math.factorial', '{"n": 5}'],
    ['math_factorial', '{"n": 5}'],
    ['math:factorial', '{"n": 5}'],
    ['files/read', '{"n": 5}'],
    [encodeToolName('math.factorial'), '{"n": 5}'],
  ],
  'names of more than 64 characters': [
    [`mcp__${'long_'.repeat(20)}one`, '{"a": 1}'],
    [`mcp__${'long_'.repeat(20)}two`, '{"a": 2}'],
  ],
}

const requestOf = (calls: readonly WrittenCall[]): ModelRequest => ({
  model: 'some-model',
  system: '',
  transcript: [userText('go')],
  tools: [...new Set(calls.map(({ name }) => name))].map((name) => ({
    name,
    description: 'A tool.',
    inputSchema: { type: 'object' },
  })),
})

const acceptedName = /^[\w-]{1,64}$/

describe.each(Object.keys(exchanges) as AnsweringDialect[])('%s', (dialect) => {
  const exchange = exchanges[dialect]
  const findViolations = dialectHarnesses.find(({ name }) => name === dialect)?.findViolations
  describe.each(Object.entries(replies))('%s', (_title, written) => {
    const calls = written.map(([name, json], at) => ({ id: `call_${at}`, name, json }))
    /** The provider calls tools by the names that it was given. */
    const sent = calls.map((call) => ({ ...call, name: encodeToolName(call.name) }))

    it.each(['streamed', 'whole'])('come out of an answer as they are written: %s', async (way) => {
      const answer = (way === 'whole' ? wholeAnswers : streamedAnswers)[dialect](sent)
      const toolChoice = { name: calls[0]?.name ?? '' }
      const request = {
        ...requestOf(calls),
        toolChoice,
        ...(way === 'whole' && { repairs: { stream: 'off' as const } }),
      }
      const { reply, error, text } = await exchange(request, answer)
      expect(error).toBe(undefined)
      expect(callsIn(reply!.message).map(({ id, name }) => ({ id, name }))).toEqual(
        calls.map(({ id, name }) => ({ id, name })),
      )
      expect(callsIn(reply!.message).map(argumentsOf)).toEqual(calls.map(({ json }) => json))
      const names = [...text.matchAll(/"name":"([^"]*)"/g)].map(([, name]) => name)
      expect(names.filter((name) => !acceptedName.test(name ?? ''))).toEqual([])
      expect(names).toContain(sent[0]?.name)
    })

    it('go into the next request as they are written', async () => {
      const { reply } = await exchange(requestOf(calls), streamedAnswers[dialect](sent))
      const results = calls.map(({ id, name }) => {
        return {
          role: 'tool' as const,
          callId: id,
          name,
          content: [{ type: 'text' as const, text: 'ok' }],
          failed: false,
        }
      })
      const request = requestOf(calls)
      const { text, body } = await exchange(
        { ...request, transcript: [...request.transcript, reply!.message, ...results] },
        streamedAnswers[dialect](sent),
      )
      expect(findViolations?.(body)).toEqual([])
      const isObject = dialect === 'anthropic' || dialect === 'bedrock-converse'
      const wanted = calls.flatMap(({ json }) => (isObject ? numbersIn(json) : [JSON.stringify(json)]))
      expect(wanted.filter((one) => !text.includes(one))).toEqual([])
    })
  })
})

const numbersIn = (json: string): readonly string[] =>
  json.replace(/"(?:[^"\\]|\\.)*"/g, '').match(/-?\d[\d.eE+]*/g) ?? []
