/** Tests the Responses API with the official OpenAI SDK. */

import OpenAI, { BadRequestError, NotFoundError } from 'openai'
import { describe, expect, it } from 'vitest'
import { owner, server } from './support/here.ts'

const sdk = () => new OpenAI({ baseURL: `${server.url}/v1`, apiKey: server.key, maxRetries: 0 })
type Events = OpenAI.Responses.ResponseStreamEvent[]

async function eventsOf(stream: AsyncIterable<OpenAI.Responses.ResponseStreamEvent>): Promise<Events> {
  const events: Events = []
  for await (const event of stream) events.push(event)
  return events
}

describe('the official OpenAI SDK, by the Responses API', () => {
  it('asks, and reads the response again', async () => {
    const response = await sdk().responses.create({ model: 'talaria', input: '[[say good day]]' })
    expect(response).toMatchObject({ object: 'response', status: 'completed', output_text: 'good day' })
    expect(response.usage?.total_tokens).toBeGreaterThan(0)
    const again = await sdk().responses.retrieve(response.id)
    expect(again.output_text).toBe('good day')
  })

  it('goes on with a response, and with a conversation by name', async () => {
    const first = await sdk().responses.create({ model: 'talaria', input: '[[echo]] one' })
    const second = sdk().responses.create({
      model: 'talaria',
      input: '[[echo]] two',
      previous_response_id: first.id,
    })
    const { data, response } = await second.withResponse()
    expect([data.output_text, data.previous_response_id]).toEqual(['two', first.id])
    const said = await owner.messages(response.headers.get('x-talaria-session-id') ?? '')
    expect(said.map(({ content }) => content)).toEqual(['[[echo]] one', 'one', '[[echo]] two', 'two'])
    const conversation = `named-${first.id.slice(5, 15)}`
    await sdk().responses.create({ model: 'talaria', input: '[[say a]]', conversation })
    const named = await sdk().responses.create({ model: 'talaria', input: '[[say b]]', conversation })
    expect(named.conversation?.id).toBe(conversation)
    expect(await owner.messages(conversation)).toHaveLength(4)
  })

  it('streams, with the whole at the end', async () => {
    const events = await eventsOf(
      await sdk().responses.create({
        model: 'talaria',
        input: '[[text 20]] [[slow gap=40 chunks=20]]',
        stream: true,
      }),
    )
    const words = Array.from({ length: 20 }, (_, n) => `word${n}`).join(' ')
    const deltas = events.flatMap((event) => (event.type === 'response.output_text.delta' ? [event.delta] : []))
    expect(deltas.length).toBeGreaterThan(1)
    expect(deltas.join('').trim()).toBe(words)
    const last = events.at(-1)
    expect(last?.type).toBe('response.completed')
    expect(last?.type === 'response.completed' && last.response.status).toBe('completed')
    expect(events.map(({ sequence_number: n }) => n)).toEqual(events.map((_event, at) => at))
  })

  it('gathers a stream into the response by its own helper', async () => {
    const stream = sdk().responses.stream({ model: 'talaria', input: '[[say gathered]]' })
    const response = await stream.finalResponse()
    expect(response.output_text).toBe('gathered')
  })

  it('sees tools that ran as completed items', async () => {
    const input = '[[call write_file {"path":"a.txt","content":"hello"} then say written]]'
    const response = await sdk().responses.create({ model: 'talaria', input })
    expect(response.output.map((item) => [item.type, 'status' in item && item.status])).toEqual([
      ['mcp_call', 'completed'],
      ['message', 'completed'],
    ])
    expect(response.output_text).toBe('written')
    const events = await eventsOf(await sdk().responses.create({ model: 'talaria', input, stream: true }))
    const done = events.flatMap((event) => (event.type === 'response.output_item.done' ? [event.item.type] : []))
    expect(done).toEqual(['mcp_call', 'message'])
  })

  it('deletes what it asked', async () => {
    const response = await sdk().responses.create({ model: 'talaria', input: '[[say gone]]' })
    await sdk().responses.delete(response.id)
    await expect(sdk().responses.retrieve(response.id)).rejects.toBeInstanceOf(NotFoundError)
  })

  it('gets errors as it types them', async () => {
    const tools = [{ type: 'file_search' as const, vector_store_ids: ['vs_1'] }]
    const error: unknown = await sdk()
      .responses.create({ model: 'talaria', input: 'x', tools })
      .catch((reason: unknown) => reason)
    expect(error).toBeInstanceOf(BadRequestError)
    expect(error).toMatchObject({ status: 400, code: 'unsupported', param: 'tools.0' })
  })
})
