import { Buffer } from 'node:buffer'
import OpenAI, { RateLimitError } from 'openai'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { parseFacts, readFacts } from './peek.ts'
import { startModelServer, type ModelServer } from './server.ts'

type Messages = OpenAI.Chat.ChatCompletionMessageParam[]

const tools: OpenAI.Chat.ChatCompletionTool[] = [
  { type: 'function', function: { name: 'todo', parameters: { type: 'object', properties: {} } } },
]
const user = (content: string): Messages => [{ role: 'user', content }]

let server: ModelServer
let client: OpenAI

beforeAll(async () => {
  server = await startModelServer()
  client = new OpenAI({ baseURL: server.url, apiKey: 'bench', maxRetries: 0 })
})
afterAll(() => server.close())
beforeEach(() => server.reset())

const ask = (messages: Messages, options: { tools?: OpenAI.Chat.ChatCompletionTool[] } = {}) =>
  client.chat.completions.create({ model: 'bench', messages, ...options })

const stream = async (messages: Messages) => {
  const texts: string[] = []
  let usage: OpenAI.CompletionUsage | undefined
  let finish: string | null = null
  const answer = await client.chat.completions.create({
    model: 'bench',
    messages,
    stream: true,
    stream_options: { include_usage: true },
  })
  for await (const chunk of answer) {
    const choice = chunk.choices[0]
    if (choice?.delta.content) texts.push(choice.delta.content)
    finish = choice?.finish_reason ?? finish
    usage = chunk.usage ?? usage
  }
  return { texts, usage, finish }
}

/** Plays an agent: answers every call until the model is done. */
const loop = async (prompt: string, add: Messages = user(prompt)): Promise<{ batches: string[][]; answer: string }> => {
  const messages = [...add]
  const batches: string[][] = []
  for (;;) {
    const runner = client.chat.completions.stream({ model: 'bench', messages, tools })
    const { message } = (await runner.finalChatCompletion()).choices[0] ?? {}
    if (!message?.tool_calls?.length) return { batches, answer: message?.content ?? '' }
    messages.push({ role: 'assistant', content: message.content, tool_calls: message.tool_calls })
    const calls = message.tool_calls.filter((call) => call.type === 'function')
    batches.push(calls.map((call) => `${call.function.name} ${call.function.arguments}`))
    messages.push(...calls.map((call) => ({ role: 'tool' as const, tool_call_id: call.id, content: 'ok' })))
  }
}

describe('the model server', () => {
  it('streams the chunks asked for, the reason and the usage', async () => {
    const { texts, finish, usage } = await stream(user('please [[text 20]]'))
    expect(texts).toHaveLength(20)
    expect(texts.join('')).toMatch(/^word0 word1 .*word19 $/)
    expect(finish).toBe('stop')
    expect(usage).toMatchObject({ completion_tokens: 20 })
  })

  it('answers without a stream, with a default text and with a given text', async () => {
    expect((await ask(user('hi'))).choices[0]?.message.content).toBe('Hello from the model.')
    expect((await ask(user('[[say a [b] ]c]]'))).choices[0]?.message.content).toBe('a [b] ]c')
    expect((await ask(user('grüß [[echo]]'))).choices[0]?.message.content).toBe('grüß')
  })

  it('lists its models', async () => {
    const { data } = await client.models.list()
    expect(data.map((model) => model.id)).toContain('bench')
  })

  it('calls a tool so many times, then answers', async () => {
    const { batches, answer } = await loop('[[tools 5 todo {"n":$i}]] [[say done]]')
    expect(batches).toEqual([0, 1, 2, 3, 4].map((n) => [`todo {"n":${n}}`]))
    expect(answer).toBe('done')
  })

  it('counts the steps of the last user message only, however the message is written', async () => {
    const before: Messages = [
      ...user('[[text 1]]'),
      { role: 'assistant', content: 'a "role":"user" in a text' },
      { role: 'user', content: [{ type: 'text', text: '[[tools 2 todo {}]]' }] },
    ]
    const { batches } = await loop('', before)
    expect(batches).toHaveLength(2)
  })

  it('asks for several calls in one step, with ids that are never given twice', async () => {
    const first = await ask(user('[[parallel 8 todo {"path":"f$i"}]]'), { tools })
    const second = await ask(user('[[parallel 8 todo {"path":"f$i"}]]'), { tools })
    const ids = [first, second].flatMap((answer) => answer.choices[0]?.message.tool_calls?.map((call) => call.id) ?? [])
    expect(new Set(ids).size).toBe(16)
  })

  it('runs a sequence of different calls', async () => {
    const { batches, answer } = await loop('[[call todo {"a":[[1]]} then todo + todo {"b":"]]"} then say all done]]')
    expect(batches).toEqual([['todo {"a":[[1]]}'], ['todo {}', 'todo {"b":"]]"}']])
    expect(answer).toBe('all done')
  })

  it('makes no calls without tools', async () => {
    expect((await ask(user('[[tools 3 todo {}]]'))).choices[0]?.message.tool_calls).toBeUndefined()
  })

  it('cuts the line after some chunks once, then succeeds', async () => {
    const prompt = user('[[drop 3 nonce=d1]] [[text 20]]')
    const texts: string[] = []
    const broken = async () => {
      const answer = await client.chat.completions.create({ model: 'bench', messages: prompt, stream: true })
      for await (const { choices } of answer) if (choices[0]?.delta.content) texts.push(choices[0].delta.content)
    }
    await expect(broken()).rejects.toThrow('terminated')
    expect(texts).toHaveLength(3)
    expect((await stream(prompt)).texts).toHaveLength(20)
  })

  it('refuses the given number of times, with a retry time', async () => {
    const prompt = user('[[status 429 retry-after=1 times=2 nonce=s1]]')
    for (const _ of [1, 2]) {
      const failure: unknown = await ask(prompt).catch((error: unknown) => error)
      expect(failure).toBeInstanceOf(RateLimitError)
      expect((failure as RateLimitError).headers?.get('retry-after')).toBe('1')
    }
    expect((await ask(prompt)).choices[0]?.finish_reason).toBe('stop')
  })

  it('never answers if directed, and records that the client aborted', async () => {
    const prompt = user('[[hang nonce=h1]]')
    await expect(
      client.chat.completions.create({ model: 'bench', messages: prompt }, { signal: AbortSignal.timeout(50) }),
    ).rejects.toThrow('aborted')
    expect((await ask(prompt)).choices[0]?.finish_reason).toBe('stop')
    expect(server.journal().map((entry) => [entry.nonce, entry.cut])).toEqual([
      ['h1', true],
      ['h1', undefined],
    ])
  })

  it('streams at the given pace', async () => {
    const start = performance.now()
    const { texts } = await stream(user('[[slow ttft=60 chunks=10 gap=10]]'))
    expect(texts).toHaveLength(10)
    expect(performance.now() - start).toBeGreaterThan(149)
  })

  it('gives thinking, token counts and malformed arguments', async () => {
    const answer = await ask(user('[[reasoning 2]] [[usage prompt=90000 cached=80000]] [[badargs todo]]'), { tools })
    expect(answer.usage).toMatchObject({ prompt_tokens: 90_000, prompt_tokens_details: { cached_tokens: 80_000 } })
    expect(answer.choices[0]?.message).toMatchObject({
      reasoning_content: 'word0 word1 ',
      tool_calls: [{ function: { name: 'todo', arguments: '{"oops": 1, "cut' } }],
    })
  })

  it('lets a script answer before the directives do', async () => {
    server.script((asked) => (asked.text === 'scripted' ? { text: `step ${asked.step}` } : undefined))
    expect((await ask(user('scripted'))).choices[0]?.message.content).toBe('step 0')
    expect((await ask(user('[[say other]]'))).choices[0]?.message.content).toBe('other')
  })

  it('keeps a journal in order of time, with bodies when asked', async () => {
    server.reset({ bodies: true })
    await stream(user('[[text 2 nonce=j1]]'))
    const [entry] = server.journal()
    expect(entry).toMatchObject({ step: 0, tools: false, nonce: 'j1', status: 200, body: { model: 'bench' } })
    const { arrived = 0, received = 0, firstByte = 0, ended = 0 } = entry ?? {}
    expect([arrived, received, firstByte, ended]).toEqual(
      [arrived, received, firstByte, ended].toSorted((a, b) => a - b),
    )
  })
})

describe('a glance at a body', () => {
  const calls = [{ id: 'a', type: 'function', function: { name: 'todo', arguments: '{"role":"user"}' } }]
  const turn = [
    { role: 'system', content: 'x' },
    { role: 'user', content: 'first' },
    { role: 'assistant', content: 'said "role":"user"' },
    {
      role: 'user',
      content: [
        { type: 'text', text: 'second {"}' },
        { type: 'image_url', image_url: { url: 'x' } },
      ],
    },
    { role: 'assistant', content: null, tool_calls: calls },
    { role: 'tool', tool_call_id: 'a', content: '{"role":"user","content":"no"}' },
  ]
  it.each<[string, Record<string, unknown>]>([
    ['a turn with calls', { model: 'm', messages: turn, tools: [{ type: 'function' }], stream: true }],
    ['no stream', { messages: turn.slice(0, 2), tools: [] }],
    ['usage', { stream_options: { include_usage: true }, stream: true, messages: turn.slice(0, 4) }],
    ['another order of keys', { messages: [{ content: 'late', role: 'user' }] }],
    ['nobody', { messages: [turn[0]] }],
  ])('sees what parsing sees: %s', (_, body) => {
    for (const indent of [0, 2]) {
      expect(readFacts(Buffer.from(JSON.stringify(body, null, indent)))).toEqual(parseFacts(body))
    }
  })
})
