/** Tests the tools and conversations of the official OpenAI SDK, unmodified. Other files test the rest of it. */

import OpenAI from 'openai'
import { zodFunction, zodResponsesFunction } from 'openai/helpers/zod'
import { describe, expect, it } from 'vitest'
import * as z from 'zod'
import { apiKey, baseURL, endOfRun, expectResults, readSome, recordedFetch, weather } from '../support/client-calls.ts'

const start = () => {
  const { exchanges, fetch: send } = recordedFetch()
  return { exchanges, client: new OpenAI({ baseURL, apiKey, fetch: send, maxRetries: 0 }) }
}
const parameters = z.object({ city: z.string() })
const toolFields = { name: weather.name, description: weather.description, parameters }
const runnable = { ...toolFields, function: ({ city }: { city: string }) => weather.of(city) }
const weatherTool = zodResponsesFunction(toolFields)
const user = (content: string) => [{ role: 'user' as const, content }]
const slow = '[[slow gap=30 chunks=2000]]'

describe('tools of the program in chat completions', () => {
  it('.runTools runs them', async () => {
    const { client, exchanges } = start()
    const tools = [zodFunction(runnable)]
    const runner = client.chat.completions.runTools({ model: 'talaria', messages: user(weather.prompt), tools })
    expect(await runner.finalContent()).toBe('sunny in both')
    await expectResults(exchanges, ['sunny in Bonn', 'sunny in Rome'])
  })

  it('.runTools runs them within streams', async () => {
    const { client, exchanges } = start()
    const runner = client.chat.completions.runTools({
      model: 'talaria',
      messages: user(weather.prompt),
      tools: [zodFunction(runnable)],
      stream: true,
    })
    let text = ''
    runner.on('content', (delta) => (text += delta))
    expect(await runner.finalContent()).toBe('sunny in both')
    expect(text).toBe('sunny in both')
    await expectResults(exchanges, ['sunny in Bonn', 'sunny in Rome'])
  })

  it('.parse gives the arguments of a strict tool', async () => {
    const { client } = start()
    const completion = await client.chat.completions.parse({
      model: 'talaria',
      messages: user(weather.prompt),
      tools: [zodFunction(toolFields)],
    })
    const [choice] = completion.choices
    expect(choice?.finish_reason).toBe('tool_calls')
    expect(choice?.message.tool_calls?.[0]).toMatchObject({ function: { parsed_arguments: { city: 'Bonn' } } })
  })

  it('an abort stops the agent', async () => {
    const { client, exchanges } = start()
    const controller = new AbortController()
    const body = { model: 'talaria', messages: user(slow), stream: true } as const
    await readSome(await client.chat.completions.create(body, { signal: controller.signal }), controller)
    expect(await endOfRun(exchanges[0]?.session ?? '')).not.toContain('word1999')
  })
})

type Item = OpenAI.Responses.ResponseInputItem
type CallOf = (body: OpenAI.Responses.ResponseCreateParamsNonStreaming) => Promise<OpenAI.Responses.Response>

/** Asks until no call of the tool is left. `next` makes the input of the next request. */
async function answerTo(
  ask: CallOf,
  input: string,
  next: (response: OpenAI.Responses.Response, results: Item[]) => Partial<OpenAI.Responses.ResponseCreateParams>,
) {
  const base = { model: 'talaria', tools: [weatherTool] }
  let response = await ask({ ...base, input })
  for (let steps = 0; steps < 5; steps++) {
    const calls = response.output.filter(({ type }) => type === 'function_call')
    if (!calls.length) break
    const results = calls.flatMap((item): Item[] => {
      if (item.type !== 'function_call') return []
      const output = weather.of(JSON.parse(item.arguments).city)
      return [{ type: 'function_call_output', call_id: item.call_id, output }]
    })
    response = await ask({ ...base, ...next(response, results) } as never)
  }
  return response
}

describe('tools of the program in responses', () => {
  const plain = (client: OpenAI) => (body: OpenAI.Responses.ResponseCreateParamsNonStreaming) =>
    client.responses.create(body)

  it('go on by the id of the response', async () => {
    const { client, exchanges } = start()
    const answer = await answerTo(plain(client), weather.prompt, ({ id }, results) => ({
      previous_response_id: id,
      input: results,
    }))
    expect(answer.output_text).toBe('sunny in both')
    await expectResults(exchanges, ['sunny in Bonn', 'sunny in Rome'])
  })

  it('go on by the whole list of items', async () => {
    const { client, exchanges } = start()
    const items: Item[] = [{ role: 'user', content: weather.prompt }]
    const answer = await answerTo(plain(client), weather.prompt, ({ output }, results) => {
      items.push(...(output as Item[]), ...results)
      return { input: items }
    })
    expect(answer.output_text).toBe('sunny in both')
    await expectResults(exchanges, ['sunny in Bonn', 'sunny in Rome'])
  })

  it('go on within streams, with parsed arguments', async () => {
    const { client, exchanges } = start()
    const streamed: CallOf = (body) => client.responses.stream({ ...body, stream: true } as never).finalResponse()
    const answer = await answerTo(streamed, weather.prompt, ({ id }, results) => ({
      previous_response_id: id,
      input: results,
    }))
    expect(answer.output_text).toBe('sunny in both')
    await expectResults(exchanges, ['sunny in Bonn', 'sunny in Rome'])
  })

  it('an abort stops the agent', async () => {
    const { client, exchanges } = start()
    const controller = new AbortController()
    const body = { model: 'talaria', input: slow, stream: true } as const
    await readSome(await client.responses.create(body, { signal: controller.signal }), controller)
    expect(await endOfRun(exchanges[0]?.session ?? '')).not.toContain('word1999')
  })
})

describe('conversations', () => {
  it('are created, continued by responses, listed item by item and deleted', async () => {
    const { client } = start()
    const { id } = await client.conversations.create({ metadata: { topic: 'weather' } })
    await client.responses.create({ model: 'talaria', input: '[[say one]]', conversation: id })
    const answer = await client.responses.create({ model: 'talaria', input: '[[say two]]', conversation: { id } })
    expect(answer.output_text).toBe('two')
    const texts: string[] = []
    for await (const item of client.conversations.items.list(id, { order: 'asc' }))
      if (item.type === 'message') texts.push(...item.content.map((part) => ('text' in part ? part.text : '')))
    expect(texts).toEqual(['[[say one]]', 'one', '[[say two]]', 'two'])
    expect((await client.conversations.retrieve(id)).metadata).toEqual({ topic: 'weather' })
    expect((await client.conversations.delete(id)).deleted).toBe(true)
    await expect(client.conversations.retrieve(id)).rejects.toMatchObject({ status: 404 })
  })
})
