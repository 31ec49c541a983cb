/** Tests the AI SDK with its three providers for our API, unmodified. */

import { createOpenAI } from '@ai-sdk/openai'
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { createOpenResponses } from '@ai-sdk/open-responses'
import { generateText, isStepCount, type LanguageModel, type ModelMessage, Output, streamText, tool } from 'ai'
import { describe, expect, it } from 'vitest'
import * as z from 'zod'
import { apiKey, baseURL, endOfRun, expectResults, readSome, recordedFetch, weather } from '../support/client-calls.ts'

type ModelOf = (name: string, send: typeof fetch) => LanguageModel
const providers: readonly (readonly [string, ModelOf])[] = [
  ['@ai-sdk/openai', (name, send) => createOpenAI({ baseURL, apiKey, fetch: send })(name)],
  ['@ai-sdk/openai, .chat', (name, send) => createOpenAI({ baseURL, apiKey, fetch: send }).chat(name)],
  [
    '@ai-sdk/openai-compatible',
    (name, send) =>
      createOpenAICompatible({ name: 'talaria', baseURL, apiKey, fetch: send, supportsStructuredOutputs: true })(name),
  ],
  [
    '@ai-sdk/open-responses',
    (name, send) => createOpenResponses({ name: 'talaria', url: `${baseURL}/responses`, apiKey, fetch: send })(name),
  ],
]

const tools = {
  get_weather: tool({
    description: weather.description,
    inputSchema: z.object({ city: z.string() }),
    execute: ({ city }) => weather.of(city),
  }),
}
const place = z.object({ city: z.string(), people: z.number() })
const stopWhen = isStepCount(5)

describe.each(providers)('%s', (_, modelOf) => {
  const start = () => {
    const { exchanges, fetch: send } = recordedFetch()
    return { exchanges, model: modelOf('talaria', send) }
  }

  it('generates a text', async () => {
    const { text, finishReason, usage } = await generateText({ model: start().model, prompt: '[[say good day]]' })
    expect([text, finishReason]).toEqual(['good day', 'stop'])
    expect(usage.totalTokens).toBeGreaterThan(0)
  })

  it('streams a text', async () => {
    const stream = streamText({ model: start().model, prompt: '[[slow gap=100 chunks=10]]' })
    const parts: string[] = []
    for await (const part of stream.textStream) parts.push(part)
    // Parts that wait for each other on a busy machine arrive as one.
    expect(parts.length).toBeGreaterThan(1)
    expect(parts.join('').trim()).toBe('word0 word1 word2 word3 word4 word5 word6 word7 word8 word9')
    expect(await stream.finishReason).toBe('stop')
  })

  it('runs tools of the program', async () => {
    const { exchanges, model } = start()
    const { text, steps } = await generateText({ model, tools, stopWhen, prompt: weather.prompt })
    expect(text).toBe('sunny in both')
    expect(steps.map(({ finishReason }) => finishReason)).toEqual(['tool-calls', 'tool-calls', 'stop'])
    await expectResults(exchanges, ['sunny in Bonn', 'sunny in Rome'])
  })

  it('runs tools of the program within a stream', async () => {
    const { exchanges, model } = start()
    const stream = streamText({ model, tools, stopWhen, prompt: weather.prompt })
    const results: unknown[] = []
    for await (const part of stream.stream) if (part.type === 'tool-result') results.push(part.output)
    expect(results).toEqual(['sunny in Bonn', 'sunny in Rome'])
    expect(await stream.text).toBe('sunny in both')
    await expectResults(exchanges, ['sunny in Bonn', 'sunny in Rome'])
  })

  it('shows no call of the tools of the agent as its own', async () => {
    const { model } = start()
    const prompt = '[[call todo {} then get_weather {"city":"Bonn"} then say done]]'
    const { text, steps } = await generateText({ model, tools, stopWhen, prompt })
    expect(text).toBe('done')
    const own = steps.flatMap(({ toolCalls }) => toolCalls).filter(({ providerExecuted }) => !providerExecuted)
    expect(own.map(({ toolName }) => toolName)).toEqual(['get_weather'])
  })

  it('gets an object', async () => {
    const output = Output.object({ schema: place })
    const prompt = '[[say {"city":"Bonn","people":336465}]]'
    expect((await generateText({ model: start().model, output, prompt })).output).toEqual({
      city: 'Bonn',
      people: 336465,
    })
    const stream = streamText({ model: start().model, output, prompt })
    expect(await stream.output).toEqual({ city: 'Bonn', people: 336465 })
  })

  it('goes on in the same session in a second turn', async () => {
    const { exchanges, model } = start()
    const messages: ModelMessage[] = [{ role: 'user', content: weather.prompt }]
    const first = await generateText({ model, tools, stopWhen, messages })
    messages.push(...first.responseMessages, { role: 'user', content: '[[echo]] and tomorrow' })
    const second = await generateText({ model, tools, stopWhen, messages })
    expect(second.text).toBe('and tomorrow')
    await expectResults(exchanges, ['sunny in Bonn', 'sunny in Rome'])
  })

  it('is aborted, and the agent stops', async () => {
    const { exchanges, model } = start()
    const controller = new AbortController()
    const prompt = '[[slow gap=30 chunks=2000]]'
    const stream = streamText({ model, prompt, abortSignal: controller.signal, onError: () => undefined })
    await readSome(stream.textStream, controller)
    expect(await endOfRun(exchanges[0]?.session ?? '')).not.toContain('word1999')
  })

  it('gets an error for an unknown model', async () => {
    const { fetch: send } = recordedFetch()
    const failed = generateText({ model: modelOf('nobody/nothing', send), prompt: 'x', maxRetries: 0 })
    await expect(failed).rejects.toMatchObject({ statusCode: 404, message: expect.stringContaining('nobody/nothing') })
  })
})

describe('an approval of a tool of the agent, by @ai-sdk/openai', () => {
  const prompt = (say: string) => `[[call terminal {"command":"rm -rf build"} then say ${say}]]`
  const ask = (content: string): ModelMessage[] => [{ role: 'user', content }]
  const decide = (parts: readonly { readonly type: string }[], approved: boolean): ModelMessage => {
    const requests = parts.filter((part) => part.type === 'tool-approval-request')
    const content = requests.map((request) => ({
      type: 'tool-approval-response' as const,
      approvalId: (request as unknown as { readonly approvalId: string }).approvalId,
      approved,
      // Only such answers reach the provider.
      providerExecuted: true,
    }))
    expect(content).toHaveLength(1)
    return { role: 'tool', content }
  }

  it.each([
    ['given', true],
    ['refused', false],
  ])('is %s once, and the conversation goes on behind it', async (_, approved) => {
    const { exchanges, fetch: send } = recordedFetch()
    const model = createOpenAI({ baseURL, apiKey, fetch: send })('talaria')
    const messages = ask(prompt('removed'))
    const first = await generateText({ model, messages })
    messages.push(...first.response.messages, decide(first.content, approved))
    const second = await generateText({ model, messages })
    expect(second.text).toBe('removed')
    expect(second.content.map(({ type }) => type)).not.toContain('tool-approval-request')
    messages.push(...second.response.messages, ...ask('[[echo]] and then'))
    const third = await generateText({ model, messages })
    expect(third.text).toBe('and then')
    expect(new Set(exchanges.map(({ session }) => session)).size).toBe(1)
    // The third request repeats both decisions of the conversation as history.
    expect(JSON.stringify(exchanges.at(-1)?.body)).toContain('mcp_approval_response')
  })

  it('is given within streams', async () => {
    const { fetch: send } = recordedFetch()
    const model = createOpenAI({ baseURL, apiKey, fetch: send })('talaria')
    const messages = ask(prompt('removed again'))
    const first = streamText({ model, messages })
    messages.push(...(await first.response).messages, decide(await first.content, true))
    const second = streamText({ model, messages })
    expect(await second.text).toBe('removed again')
    messages.push(...(await second.response).messages, ...ask('[[echo]] and then'))
    expect(await streamText({ model, messages }).text).toBe('and then')
  })
})
