/** Tests calls of other agents by A2A: both versions, tasks that take long, refusals, and a card that leads elsewhere. */

import { describe, expect, it } from 'vitest'
import type { TaskRequest } from '#agent/core/pending-request.ts'
import type { CallContext, Tool } from '#agent/core/tool.ts'
import type { ToolDeployment } from '#agent/core/vendor/tool-deployment.ts'
import a2a from '#tools/plugins/a2a.plugin.ts'
import type { PluginHost, PluginRequest } from '#tools/plugins/define-plugin.ts'
import { call } from '../support/call.ts'

const url = 'https://agent.example.com'
const cardOf = (version: string, address = `${url}/rpc`) =>
  version === '0.3'
    ? { name: 'Peer', protocolVersion: '0.3.0', url: address, skills: [] }
    : {
        name: 'Peer',
        skills: [{ id: 's', name: 'Sums', description: 'Adds.' }],
        supportedInterfaces: [
          { protocolBinding: 'GRPC', protocolVersion: '1.0', url: `${url}/grpc` },
          { protocolBinding: 'JSONRPC', protocolVersion: '1.0', url: address },
        ],
      }

type Answered = Readonly<Record<string, unknown>> & { readonly later?: TaskRequest }
type Rpc = { readonly method: string; readonly params: Record<string, unknown> }

/** `answer`: the result of a method, or an error. */
function open(card: object, answer: (rpc: Rpc) => object = () => ({}), agent: object = { secret: 'PEER_TOKEN' }) {
  const asked: (PluginRequest & { readonly rpc?: Rpc })[] = []
  const settings = { plugins: { a2a_agents: [{ name: 'peer', url, ...agent }] as object[] } }
  let now = 0
  const host = {
    deployment: () => ({ settings }) as unknown as ToolDeployment,
    secret: async (name: string) => (name === 'PEER_TOKEN' ? 'the token' : undefined),
    now: () => now,
    wait: async (ms: number) => void (now += ms),
    request: async (request: PluginRequest) => {
      const rpc = request.body === undefined ? undefined : (JSON.parse(request.body) as Rpc)
      asked.push({ ...request, ...(rpc && { rpc }) })
      const found = rpc ? { jsonrpc: '2.0', id: 1, ...answer(rpc) } : card
      return { status: 200, text: JSON.stringify(found) }
    },
  } as unknown as PluginHost
  const tools = new Map<string, Tool>(a2a.createTools(host).map((tool) => [tool.name, tool]))
  const progress: string[] = []
  const use = async (
    name: string,
    input: object,
    {
      onSending = () => undefined,
      ...given
    }: Partial<CallContext> & { readonly onSending?: (later: TaskRequest) => void } = {},
    onWait: (later: TaskRequest) => void = () => undefined,
  ) => {
    const reportProgress = (text: string) => void progress.push(text)
    const context = { reportProgress, kept: new Map<string, unknown>(), ...given }
    const ask = async (more: Partial<CallContext>) =>
      (await call(tools.get(name) as Tool, input, {}, { ...context, ...more })).result as Answered
    let result = await ask({})
    // As the turn does: it stores the request, and goes on at its time.
    for (; result.later; result = await ask({ continues: { state: result.later.state } })) {
      now = Math.max(now, result.later.until)
      if (result.later.state.includes('"at":"sending"')) onSending(result.later)
      else onWait(result.later)
    }
    return { ...result } as Record<string, unknown>
  }
  return { asked, use, progress, settings }
}

describe('an agent of version 1.0', () => {
  it('is asked with its token, and its task is polled to its end', async () => {
    let looks = 0
    const task = (state: string, more: object = {}) => ({
      id: 't1',
      contextId: 'c1',
      status: { state: `TASK_STATE_${state}` },
      ...more,
    })
    const done = task('COMPLETED', { artifacts: [{ parts: [{ text: '4' }, { data: { sum: 4 } }] }] })
    const { use, asked } = open(cardOf('1.0'), ({ method }) =>
      method === 'SendMessage'
        ? { result: { task: task('SUBMITTED') } }
        : { result: ++looks < 3 ? task('WORKING') : done },
    )
    expect(await use('a2a_call', { agent: 'peer', message: '2 + 2?', context_id: 'c1' })).toEqual({
      reply: '4\n{"sum":4}',
      context_id: 'c1',
      task_id: 't1',
      state: 'completed',
    })
    expect(asked.map(({ rpc }) => rpc?.method)).toEqual([undefined, 'SendMessage', 'GetTask', 'GetTask', 'GetTask'])
    expect(asked[1]).toMatchObject({
      url: `${url}/rpc`,
      headers: { authorization: 'Bearer the token', 'a2a-version': '1.0' },
      rpc: {
        params: {
          message: { role: 'ROLE_USER', contextId: 'c1', parts: [{ text: '2 + 2?' }] },
          configuration: { returnImmediately: true },
        },
      },
    })
  })

  it('shows its state and what is new of a long answer while it works', async () => {
    const looks = ['One.', 'One. Two.', 'One. Two.', 'One. Two. Three.']
    let n = 0
    const { use, progress } = open(cardOf('1.0'), ({ method }) => {
      const state = method === 'SendMessage' ? 'SUBMITTED' : n < looks.length - 1 ? 'WORKING' : 'COMPLETED'
      const artifacts = method === 'SendMessage' ? [] : [{ parts: [{ text: looks[n++] }] }]
      return { result: { id: 't1', contextId: 'c1', status: { state: `TASK_STATE_${state}` }, artifacts } }
    })
    expect(await use('a2a_call', { agent: 'peer', message: 'count' })).toMatchObject({ reply: 'One. Two. Three.' })
    expect(progress).toEqual([
      '[task t1: submitted]\n',
      '[task t1: working]\nOne.',
      ' Two.',
      '[task t1: completed]\n Three.',
    ])
  })

  it('that works longer than the wait, or asks, says how to go on', async () => {
    const states = ['WORKING', 'INPUT_REQUIRED']
    for (const [state, note] of [
      [states[0], 'a2a_task'],
      [states[1], 'Answer with a2a_call'],
    ] as const) {
      const status = { state: `TASK_STATE_${state}`, message: { parts: [{ text: 'Which one?' }] } }
      const { use } = open(cardOf('1.0'), () => ({ result: { task: { id: 't1', contextId: 'c1', status } } }))
      const found = await use('a2a_call', { agent: 'peer', message: 'x', wait: 0 })
      expect(found).toMatchObject({ reply: 'Which one?', note: expect.stringContaining(note) })
    }
  })

  const working = (reply = '', state = 'WORKING') => ({
    result: {
      id: 't1',
      contextId: 'c1',
      status: { state: `TASK_STATE_${state}` },
      artifacts: [{ parts: [{ text: reply }] }],
    },
  })
  const slow = (...found: object[]) => {
    let looks = 0
    return open(cardOf('1.0'), ({ method }) => {
      if (method === 'SendMessage') return working('', 'SUBMITTED')
      const [first] = found.splice(0, 1)
      if (first) return { result: first }
      return ++looks < 3 ? working('half') : working('whole', 'COMPLETED')
    })
  }
  const methodsOf = ({ asked }: ReturnType<typeof open>) => asked.flatMap(({ rpc }) => rpc?.method ?? [])

  it('keeps its task while it waits, so that another object asks for it, and the message is sent once', async () => {
    const opened = slow()
    const kept = new Map<string, unknown>()
    const waits: TaskRequest[] = []
    const found = await opened.use('a2a_call', { agent: 'peer', message: 'x' }, { kept }, (later) => {
      waits.push(later)
      kept.clear()
    })
    expect(found).toEqual({ reply: 'whole', context_id: 'c1', task_id: 't1', state: 'completed' })
    expect(methodsOf(opened)).toEqual(['SendMessage', 'GetTask', 'GetTask', 'GetTask'])
    expect(waits[0]).toMatchObject({
      kind: 'task',
      server: 'peer',
      workId: 't1',
      cancel: { tool: 'a2a_task', input: '{"agent":"peer","task_id":"t1","cancel":true}' },
    })
    expect(waits.map(({ state }) => state.length < 300)).toEqual([true, true, true])
  })

  const messageIdOf = ({ state }: TaskRequest) => (JSON.parse(state) as { readonly messageId: string }).messageId
  const history: { messageId: string }[] = []
  it.each<[string, object, object, readonly string[]]>([
    [
      'lists it',
      {},
      { tasks: [{ id: 't0' }, { ...working('', 'COMPLETED').result, history }] },
      ['ListTasks', 'GetTask', 'GetTask'],
    ],
    ['has its task', { task_id: 't1' }, { ...working().result, history }, ['GetTask', 'GetTask', 'GetTask', 'GetTask']],
  ])(
    'finds its task when a restart falls between message and answer and the agent %s',
    async (_, input, found, methods) => {
      const opened = slow(found)
      const kept = new Map<string, unknown>()
      const forget = () => kept.clear()
      const onSending = (later: TaskRequest) => {
        forget()
        history.splice(0, 1, { messageId: messageIdOf(later) })
      }
      const wish = { agent: 'peer', message: 'x', ...input }
      const answer = await opened.use('a2a_call', wish, { kept, onSending }, forget)
      expect(answer).toMatchObject({ reply: 'whole', task_id: 't1', state: 'completed' })
      expect(methodsOf(opened).slice(0, methods.length)).toEqual(methods)
    },
  )

  it.each(['1.0', '0.3'])(
    'names the message when a restart falls there and it is found nowhere (%s)',
    async (version) => {
      const kept = new Map<string, unknown>()
      const opened = open(cardOf(version), () => ({ result: { tasks: [working().result] } }))
      const seen: string[] = []
      const onSending = (later: TaskRequest) => {
        kept.clear()
        seen.push(messageIdOf(later))
      }
      const answer = await opened.use('a2a_call', { agent: 'peer', message: 'x' }, { kept, onSending })
      expect(answer['error']).toMatch(/restarted while the message was being sent.*before you send/)
      expect(answer['error']).toContain(`messageId is ${seen[0]})`)
      expect(methodsOf(opened)).toEqual(version === '1.0' ? ['ListTasks'] : [])
    },
  )

  it('gets another id with each message, because models number their calls anew', async () => {
    const opened = open(cardOf('1.0'), () => working('whole', 'COMPLETED'))
    for (const mayWaitFor of ['nothing', undefined] as const)
      await opened.use('a2a_call', { agent: 'peer', message: 'x' }, mayWaitFor && { mayWaitFor })
    const ids = opened.asked.flatMap(({ rpc }) => (rpc?.method === 'SendMessage' ? [rpc.params['message']] : []))
    expect(new Set(ids.map((message) => (message as { messageId: string }).messageId)).size).toBe(2)
  })

  it('is sent nothing when it was removed before', async () => {
    const opened = slow()
    const onSending = () => void (opened.settings.plugins.a2a_agents = [])
    const { error } = await opened.use('a2a_call', { agent: 'peer', message: 'x' }, { onSending })
    expect(error).toMatch(/removed.*Nothing was sent/)
    expect(methodsOf(opened)).toEqual([])
  })

  it('is waited for within a program', async () => {
    const opened = slow()
    const found = await opened.use('a2a_call', { agent: 'peer', message: 'x' }, { mayWaitFor: 'nothing' }, () => {
      throw new Error('A program cannot go on later.')
    })
    expect(found).toMatchObject({ reply: 'whole', state: 'completed' })
  })

  it('that was removed or has moved meanwhile gets no token, and its task is named', async () => {
    for (const agents of [[], [{ name: 'peer', url: 'https://other.example.com', secret: 'PEER_TOKEN' }]]) {
      const opened = slow()
      const { error, task_id: id } = await opened.use('a2a_call', { agent: 'peer', message: 'x' }, {}, () => {
        opened.settings.plugins.a2a_agents = agents
      })
      expect([error, id]).toEqual([expect.stringContaining('Its task t1 goes on there'), 't1'])
      expect(methodsOf(opened)).toEqual(['SendMessage'])
    }
  })

  it('that cannot be reached again and again is left with its task', async () => {
    let isDown = false
    const opened = open(cardOf('1.0'), () => (isDown ? { error: { code: -32_603, message: 'down' } } : working()))
    const found = await opened.use('a2a_call', { agent: 'peer', message: 'x' }, {}, () => void (isDown = true))
    expect(found).toMatchObject({ task_id: 't1', state: 'working', note: expect.stringContaining('a2a_task') })
    expect(methodsOf(opened)).toEqual(['SendMessage', ...Array<string>(5).fill('GetTask')])
  })

  it('is told when the turn is stopped during a look', async () => {
    const opened = slow()
    const stop = new AbortController()
    await opened.use('a2a_call', { agent: 'peer', message: 'x' }, { signal: stop.signal }, () => stop.abort())
    expect(methodsOf(opened).at(-1)).toBe('CancelTask')
  })

  it('is cancelled by a2a_task', async () => {
    const { use, asked } = open(cardOf('1.0'), () => ({
      result: { id: 't1', contextId: 'c1', status: { state: 'TASK_STATE_CANCELED' } },
    }))
    expect(await use('a2a_task', { agent: 'peer', task_id: 't1', cancel: true })).toMatchObject({ state: 'canceled' })
    expect(asked.at(-1)?.rpc).toMatchObject({ method: 'CancelTask', params: { id: 't1' } })
  })

  it('shows its card', async () => {
    const { use } = open(cardOf('1.0'))
    expect(await use('a2a_list', {})).toEqual({ agents: [{ name: 'peer', host: 'agent.example.com' }] })
    expect(await use('a2a_discover', { agent: 'peer' })).toMatchObject({ protocol: '1.0', skills: [{ name: 'Sums' }] })
  })
})

it('an agent of version 0.3 is spoken to in its words', async () => {
  const message = { kind: 'message', contextId: 'c1', parts: [{ kind: 'text', text: 'hello' }] }
  const { use, asked } = open(cardOf('0.3'), () => ({ result: message }))
  expect(await use('a2a_call', { agent: 'peer', message: 'hi' })).toMatchObject({ reply: 'hello', state: 'completed' })
  expect(asked.at(-1)?.rpc).toMatchObject({
    method: 'message/send',
    params: { message: { role: 'user', parts: [{ kind: 'text', text: 'hi' }] }, configuration: { blocking: false } },
  })
})

describe('a call is refused', () => {
  it.each([
    ['an unknown agent', { agent: 'other' }, cardOf('1.0'), 'There are: peer.'],
    ['a card that names another origin', {}, cardOf('1.0', 'https://evil.example.com/rpc'), 'another origin'],
    ['a card with no address', {}, cardOf('1.0', 'javascript:alert(1)'), 'another origin'],
    ['a card without JSON-RPC', {}, { name: 'Peer', supportedInterfaces: [] }, 'offers no JSON-RPC'],
    ['a card that is a list', {}, [], 'status 200'],
  ])('for %s', async (_, more, card, said) => {
    const { use, asked } = open(card)
    const { error } = await use('a2a_call', { agent: 'peer', message: 'hi', ...more })
    expect(error).toContain(said)
    expect(asked.some(({ rpc }) => rpc)).toBe(false)
  })

  it('for a secret that is not there, and with the reason of the agent', async () => {
    const without = open(cardOf('1.0'), undefined, { secret: 'GONE' })
    expect((await without.use('a2a_discover', { agent: 'peer' }))['error']).toContain('no secret GONE')
    expect(without.asked).toEqual([])
    const refusing = open(cardOf('1.0'), () => ({ error: { code: -32_001, message: 'no such task' } }))
    expect((await refusing.use('a2a_task', { agent: 'peer', task_id: 'x' }))['error']).toContain('(-32001): no such')
  })

  it('for a task that fails', async () => {
    const status = { state: 'TASK_STATE_FAILED', message: { parts: [{ text: 'no disk' }] } }
    const { use } = open(cardOf('1.0'), () => ({ result: { task: { id: 't1', status } } }))
    expect((await use('a2a_call', { agent: 'peer', message: 'x' }))['error']).toContain('ended as failed: no disk')
  })
})
