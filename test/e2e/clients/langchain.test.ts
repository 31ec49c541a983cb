/** Tests ChatOpenAI of LangChain, unmodified. */

import { AIMessage, type BaseMessage, HumanMessage } from '@langchain/core/messages'
import { tool } from '@langchain/core/tools'
import { ChatOpenAI } from '@langchain/openai'
import { describe, expect, it } from 'vitest'
import * as z from 'zod'
import { apiKey, baseURL, endOfRun, expectResults, readSome, recordedFetch, weather } from '../support/client-calls.ts'

const getWeather = tool(({ city }: { city: string }) => weather.of(city), {
  name: weather.name,
  description: weather.description,
  schema: z.object({ city: z.string() }),
})

describe.each([
  ['chat completions, its default', false],
  ['responses', true],
])('ChatOpenAI by %s', (_, useResponsesApi) => {
  const start = (model = 'talaria') => {
    const { exchanges, fetch: send } = recordedFetch()
    const configuration = { baseURL, fetch: send }
    return { exchanges, model: new ChatOpenAI({ model, apiKey, configuration, useResponsesApi, maxRetries: 0 }) }
  }

  /** Asks the model until it calls no more tools. */
  async function answerTo(messages: BaseMessage[], model: ReturnType<typeof start>['model']): Promise<BaseMessage[]> {
    const bound = model.bindTools([getWeather])
    for (let steps = 0; steps < 5; steps++) {
      const answer = await bound.invoke(messages)
      messages.push(answer)
      if (!answer.tool_calls?.length) break
      for (const call of answer.tool_calls) messages.push(await getWeather.invoke(call))
    }
    return messages
  }

  it('answers', async () => {
    const answer = await start().model.invoke('[[say good day]]')
    expect(answer.text).toBe('good day')
    expect(answer.usage_metadata).toMatchObject({ total_tokens: expect.any(Number) })
  })

  it('streams', async () => {
    const parts: string[] = []
    for await (const part of await start().model.stream('[[slow gap=100 chunks=10]]')) parts.push(part.text)
    expect(parts.filter(Boolean).length).toBeGreaterThan(1)
    expect(parts.join('').trim()).toBe('word0 word1 word2 word3 word4 word5 word6 word7 word8 word9')
  })

  it('runs bound tools, and goes on in the same session in a second turn', async () => {
    const { model, exchanges } = start()
    const messages = await answerTo([new HumanMessage(weather.prompt)], model)
    expect(messages.at(-1)?.text).toBe('sunny in both')
    messages.push(new HumanMessage('[[echo]] and tomorrow'))
    expect((await answerTo(messages, model)).at(-1)?.text).toBe('and tomorrow')
    await expectResults(exchanges, ['sunny in Bonn', 'sunny in Rome'])
  })

  it('gathers the call of a bound tool from a stream', async () => {
    const stream = await start().model.bindTools([getWeather]).stream(weather.prompt)
    let whole: Awaited<ReturnType<ChatOpenAI['invoke']>> | undefined
    for await (const part of stream) whole = whole ? whole.concat(part as never) : part
    expect(whole).toBeInstanceOf(AIMessage)
    expect(whole?.tool_calls).toMatchObject([{ name: 'get_weather', args: { city: 'Bonn' } }])
  })

  it.each(['jsonSchema', 'functionCalling', 'jsonMode'] as const)('gets an object by %s', async (method) => {
    const schema = z.object({ city: z.string() })
    const model = start().model.withStructuredOutput(schema, { method, name: 'place' })
    const said = method === 'functionCalling' ? '[[call place {"city":"Bonn"}]]' : '[[say {"city":"Bonn"}]]'
    expect(await model.invoke(said)).toEqual({ city: 'Bonn' })
  })

  it('is aborted, and the agent stops', async () => {
    const { model, exchanges } = start()
    const controller = new AbortController()
    await readSome(await model.stream('[[slow gap=30 chunks=2000]]', { signal: controller.signal }), controller)
    expect(await endOfRun(exchanges[0]?.session ?? '')).not.toContain('word1999')
  })

  it('gets an error for an unknown model', async () => {
    await expect(start('nobody/nothing').model.invoke('x')).rejects.toMatchObject({ status: 404 })
  })
})
