/** Tests the Agents SDK of OpenAI, unmodified. */

import { Agent, OpenAIConversationsSession, OpenAIProvider, Runner, setTracingDisabled, tool } from '@openai/agents'
import OpenAI from 'openai'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import * as z from 'zod'
import { apiKey, baseURL, endOfRun, expectResults, readSome, recordedFetch, weather } from '../support/client-calls.ts'

setTracingDisabled(true)

const getWeather = tool({
  name: weather.name,
  description: weather.description,
  parameters: z.object({ city: z.string() }),
  execute: ({ city }) => weather.of(city),
})

describe.each([
  ['responses, its default', true],
  ['chat completions', false],
])('@openai/agents by %s', (_, useResponses) => {
  const start = () => {
    const { exchanges, fetch: send } = recordedFetch()
    const openAIClient = new OpenAI({ baseURL, apiKey, fetch: send, maxRetries: 0 })
    const modelProvider = new OpenAIProvider({ openAIClient, useResponses })
    return { exchanges, runner: new Runner({ modelProvider, tracingDisabled: true }) }
  }

  it('answers', async () => {
    const agent = new Agent({ name: 'Assistant', model: 'talaria', instructions: 'Be brief.' })
    expect((await start().runner.run(agent, '[[say good day]]')).finalOutput).toBe('good day')
  })

  it('uses the default model that the environment of the program names', async () => {
    vi.stubEnv('OPENAI_DEFAULT_MODEL', 'talaria')
    onTestFinished(() => void vi.unstubAllEnvs())
    const { runner, exchanges } = start()
    const agent = new Agent({ name: 'Assistant' })
    expect((await runner.run(agent, '[[say good day]]')).finalOutput).toBe('good day')
    expect(exchanges[0]?.body['model']).toBe('talaria')
  })

  it('answers without any name of a model, by the default model of the deployment', async () => {
    const { runner, exchanges } = start()
    expect((await runner.run(new Agent({ name: 'Assistant' }), '[[say good day]]')).finalOutput).toBe('good day')
    expect(exchanges[0]?.body['model']).toMatch(/^gpt-/)
  })

  it('runs tools of the program', async () => {
    const { runner, exchanges } = start()
    const agent = new Agent({ name: 'Assistant', model: 'talaria', tools: [getWeather] })
    expect((await runner.run(agent, weather.prompt)).finalOutput).toBe('sunny in both')
    await expectResults(exchanges, ['sunny in Bonn', 'sunny in Rome'])
  })

  it('streams, with tools', async () => {
    const { runner, exchanges } = start()
    const agent = new Agent({ name: 'Assistant', model: 'talaria', tools: [getWeather] })
    const stream = await runner.run(agent, weather.prompt, { stream: true })
    let text = ''
    for await (const part of stream.toTextStream()) text += part
    await stream.completed
    expect([text, stream.finalOutput]).toEqual(['sunny in both', 'sunny in both'])
    await expectResults(exchanges, ['sunny in Bonn', 'sunny in Rome'])
  })

  it('hands off to another agent, which uses its own tools', async () => {
    const { runner } = start()
    const expert = new Agent({ name: 'Expert', model: 'talaria', tools: [getWeather] })
    const desk = Agent.create({ name: 'Desk', model: 'talaria', handoffs: [expert] })
    const input = '[[call transfer_to_Expert {} then get_weather {"city":"Bonn"} then say done by the expert]]'
    const result = await runner.run(desk, input)
    expect(result.finalOutput).toBe('done by the expert')
    expect(result.lastAgent?.name).toBe('Expert')
  })

  it('gets an object', async () => {
    const agent = new Agent({ name: 'Assistant', model: 'talaria', outputType: z.object({ city: z.string() }) })
    expect((await start().runner.run(agent, '[[say {"city":"Bonn"}]]')).finalOutput).toEqual({ city: 'Bonn' })
  })

  it('goes on in the same session in a second turn', async () => {
    const { runner, exchanges } = start()
    const agent = new Agent({ name: 'Assistant', model: 'talaria', tools: [getWeather] })
    const first = await runner.run(agent, weather.prompt)
    const second = await runner.run(agent, [...first.history, { role: 'user', content: '[[echo]] and tomorrow' }])
    expect(second.finalOutput).toBe('and tomorrow')
    await expectResults(exchanges, ['sunny in Bonn', 'sunny in Rome'])
  })

  it('is aborted, and the agent stops', async () => {
    const { runner, exchanges } = start()
    const controller = new AbortController()
    const agent = new Agent({ name: 'Assistant', model: 'talaria' })
    const input = '[[slow gap=30 chunks=2000]]'
    const stream = await runner.run(agent, input, { stream: true, signal: controller.signal })
    await readSome(stream.toTextStream(), controller)
    await stream.completed.catch(() => undefined)
    expect(await endOfRun(exchanges[0]?.session ?? '')).not.toContain('word1999')
  })

  it('gets an error for an unknown model', async () => {
    const agent = new Agent({ name: 'Assistant', model: 'nobody/nothing' })
    await expect(start().runner.run(agent, 'x')).rejects.toMatchObject({ status: 404, code: 'model_not_found' })
  })
})

it('goes on by the id of the previous response', async () => {
  const { exchanges, fetch: send } = recordedFetch()
  const openAIClient = new OpenAI({ baseURL, apiKey, fetch: send, maxRetries: 0 })
  const runner = new Runner({ modelProvider: new OpenAIProvider({ openAIClient }), tracingDisabled: true })
  const agent = new Agent({ name: 'Assistant', model: 'talaria', tools: [getWeather] })
  const first = await runner.run(agent, weather.prompt)
  const previousResponseId = first.lastResponseId ?? ''
  const second = await runner.run(agent, '[[echo]] and tomorrow', { previousResponseId })
  expect(second.finalOutput).toBe('and tomorrow')
  await expectResults(exchanges, ['sunny in Bonn', 'sunny in Rome'])
})

describe('a conversation of the server', () => {
  const start = () => {
    const { exchanges, fetch: send } = recordedFetch()
    const client = new OpenAI({ baseURL, apiKey, fetch: send, maxRetries: 0 })
    const runner = new Runner({ modelProvider: new OpenAIProvider({ openAIClient: client }), tracingDisabled: true })
    return { exchanges, runner, session: new OpenAIConversationsSession({ client }) }
  }
  const user = (text: string) => ({ type: 'message' as const, role: 'user' as const, content: text })
  const textsOf = (items: readonly object[]) =>
    items.map((item) => JSON.stringify((item as { content?: unknown }).content))

  it('gives up the items that were added last, one by one', async () => {
    const { session } = start()
    await session.addItems([user('one'), user('two')])
    await session.addItems([user('three')])
    for (const word of ['three', 'two', 'one']) {
      expect(JSON.stringify(await session.popItem())).toContain(word)
      expect(textsOf(await session.getItems()).join()).not.toContain(word)
    }
    expect(await session.getItems()).toEqual([])
    expect(await session.popItem()).toBeUndefined()
  })

  it('goes on after items were added and taken back', async () => {
    const { exchanges, runner, session } = start()
    const agent = new Agent({ name: 'Assistant', model: 'talaria' })
    expect((await runner.run(agent, '[[echo]] first', { session })).finalOutput).toBe('first')
    await session.addItems([user('never mind')])
    expect(JSON.stringify(await session.popItem())).toContain('never mind')
    expect((await runner.run(agent, '[[echo]] second', { session })).finalOutput).toBe('second')
    expect(textsOf(await session.getItems()).join()).not.toContain('never mind')
    expect(exchanges.every(({ status }) => status === 200)).toBe(true)
  })
})
