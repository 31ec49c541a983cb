/** Tests the helpers of the official OpenAI SDK: streams, parsed answers, pages and files. */

import OpenAI, { NotFoundError, toFile } from 'openai'
import { zodResponseFormat, zodTextFormat } from 'openai/helpers/zod'
import { describe, expect, it } from 'vitest'
import * as z from 'zod'
import { createTenant, owner, server } from './support/here.ts'

const sdk = (apiKey = server.key) => new OpenAI({ baseURL: `${server.url}/v1`, apiKey, maxRetries: 0 })
const user = (content: string) => [{ role: 'user' as const, content }]
const place = z.object({ city: z.string() })
const answersJson = `[[say {"city":"Bonn"}]]`

describe('helpers for chat completions', () => {
  it('.stream gathers content and usage', async () => {
    const stream = sdk().chat.completions.stream({
      model: 'talaria',
      messages: user('[[text 12]] [[slow gap=10 chunks=12]]'),
      stream_options: { include_usage: true },
    })
    const deltas: string[] = []
    stream.on('content', (delta) => deltas.push(delta))
    const text = await stream.finalContent()
    expect(deltas.join('')).toBe(text)
    expect(text?.trim().split(' ')).toHaveLength(12)
    expect((await stream.totalUsage()).total_tokens).toBeGreaterThan(0)
    expect((await stream.finalChatCompletion()).choices[0]?.finish_reason).toBe('stop')
  })

  it('.parse gives the value of a schema', async () => {
    const completion = await sdk().chat.completions.parse({
      model: 'talaria',
      messages: user(answersJson),
      response_format: zodResponseFormat(place, 'place'),
    })
    expect(completion.choices[0]?.message.parsed).toEqual({ city: 'Bonn' })
  })

  it('.parse gives the value of an answer with a code fence', async () => {
    const completion = await sdk().chat.completions.parse({
      model: 'talaria',
      messages: user('[[say ```json\n{"city":"Bonn"}\n```]]'),
      response_format: zodResponseFormat(place, 'place'),
    })
    expect(completion.choices[0]?.message.parsed).toEqual({ city: 'Bonn' })
  })

  it('.parse throws an error with a code for an answer that cannot be repaired', async () => {
    const failed = sdk().chat.completions.parse({
      model: 'talaria',
      messages: user('[[say no JSON]]'),
      response_format: zodResponseFormat(place, 'place'),
    })
    await expect(failed).rejects.toMatchObject({ status: 422, code: 'invalid_output' })
  })

  it('.stream gives the value of a schema too', async () => {
    const stream = sdk().chat.completions.stream({
      model: 'talaria',
      messages: user(answersJson),
      response_format: zodResponseFormat(place, 'place'),
    })
    expect((await stream.finalChatCompletion()).choices[0]?.message.parsed).toEqual({ city: 'Bonn' })
  })
})

describe('helpers for responses', () => {
  it('.stream gathers the response and its events', async () => {
    const stream = sdk().responses.stream({ model: 'talaria', input: '[[say streamed]]' })
    const types: string[] = []
    for await (const { type } of stream) types.push(type)
    expect(types.at(0)).toBe('response.created')
    expect(types.at(-1)).toBe('response.completed')
    expect((await stream.finalResponse()).output_text).toBe('streamed')
  })

  it('.parse gives the value of a schema', async () => {
    const response = await sdk().responses.parse({
      model: 'talaria',
      input: answersJson,
      text: { format: zodTextFormat(place, 'place') },
    })
    expect(response.output_parsed).toEqual({ city: 'Bonn' })
  })

  it('.stream gives the value of a schema too', async () => {
    const stream = sdk().responses.stream({
      model: 'talaria',
      input: answersJson,
      text: { format: zodTextFormat(place, 'place') },
    })
    expect((await stream.finalResponse()).output_parsed).toEqual({ city: 'Bonn' })
  })

  it('pages through input items', async () => {
    const response = await sdk().responses.create({ model: 'talaria', input: '[[say x]]' })
    const items = []
    for await (const item of sdk().responses.inputItems.list(response.id, { limit: 1 })) items.push(item.type)
    expect(items).toEqual(['message'])
  })
})

describe('helpers for files', () => {
  it('upload, page, read and delete, and a response reads the file from its workspace', async () => {
    const client = sdk((await createTenant()).key)
    const made = []
    for (const name of ['a.txt', 'b.txt', 'c.txt'])
      made.push(
        await client.files.create({ file: await toFile(Buffer.from(`text of ${name}`), name), purpose: 'user_data' }),
      )
    const listed = []
    for await (const file of client.files.list({ limit: 2 })) listed.push(file.id)
    expect(listed.toSorted()).toEqual(made.map(({ id }) => id).toSorted())
    const [first] = made
    if (!first) throw new Error('no file')
    expect((await client.files.retrieve(first.id)).filename).toBe('a.txt')
    expect(await (await client.files.content(first.id)).text()).toBe('text of a.txt')
    const { response } = await client.responses
      .create({
        model: 'talaria',
        input: [
          {
            role: 'user',
            content: [
              { type: 'input_text', text: '[[say seen]]' },
              { type: 'input_file', file_id: first.id },
            ],
          },
        ],
      })
      .withResponse()
    const session = response.headers.get('x-talaria-session-id') ?? ''
    const messages = await owner.as(client.apiKey ?? '').messages(session)
    const [, path] = /\[Attached file: (\S+) /.exec(messages[0]?.content ?? '') ?? []
    const stored = await owner.as(client.apiKey ?? '').get(`/api/sessions/${session}/files/${path}`)
    expect(stored.text).toBe('text of a.txt')
    expect((await client.files.delete(first.id)).deleted).toBe(true)
    await expect(client.files.retrieve(first.id)).rejects.toBeInstanceOf(NotFoundError)
  })
})
