/** Tests delegation: what subagents may do, and how their results come back. */

import { beforeAll, describe, expect, it } from 'vitest'
import { calls, Gate, hangs, listTexts, model, type ModelRequest, says, until } from '#test/support/scripted-model.ts'
import { applyMigrations, call, newSession, newTenant, request } from '#test/worker/client.ts'
import { send } from '#test/worker/listen.ts'
import { objectOf } from '../../support/object.ts'
import {
  childrenOf,
  conversation,
  delegate,
  goalOf,
  internal,
  linesOf,
  resultsIn,
  resultsOf,
  rest,
  stored,
  treeOf,
} from './support.ts'

beforeAll(applyMigrations)

const toolNames = (asked: ModelRequest) => asked.tools?.map((tool) => tool.function.name) ?? []
const usageOf = async (path: string) =>
  (await call<{ usage: { input: number; output: number } }>('GET', path)).body.usage

describe('a delegated goal', () => {
  it('is worked on in a fresh context, and its report is the result of the call', async () => {
    const { id, ofChildren, scripted } = await conversation({
      parent: [delegate({ goal: 'Count the files.', context: 'They are in /data.' }), says('There are three.')],
      child: () => says('I counted three files.'),
    })
    expect((await send(id, 'a secret question')).output).toBe('There are three.')
    const [asked] = ofChildren()
    expect(listTexts(asked as ModelRequest)).toHaveLength(1)
    expect(listTexts(asked as ModelRequest)[0]).toContain('They are in /data.')
    expect(JSON.stringify(asked)).not.toContain('secret question')
    const [result] = await resultsOf(id)
    expect(result?.results).toMatchObject([
      {
        task_index: 0,
        status: 'completed',
        summary: 'I counted three files.',
        api_calls: 1,
        model: scripted.id,
        exit_reason: 'answered',
        tokens: { input: 100, output: 10 },
        tool_trace: [],
      },
    ])
    expect(scripted.requests).toHaveLength(3)
  })

  it('has the model that the call names, and a name that is none is refused with the nearest ones', async () => {
    const { id, ofChildren } = await conversation({
      parent: [delegate({ goal: 'Count the files.', model: 'scripted/nothing-like-it' }), says('ok')],
      child: () => says('Done.'),
    })
    await send(id, 'go')
    expect(ofChildren()).toEqual([])
    const [refused] = (await stored(id)).filter(({ role }) => role === 'tool')
    expect(String(refused?.content)).toContain('The model scripted/nothing-like-it is not available here')
  })

  it('has no tools that ask, remember, schedule or delegate (DE1)', async () => {
    const { id, ofChildren } = await conversation({
      parent: [delegate({ goal: 'Try everything.', role: 'orchestrator' }), says('ok')],
      child: () => says('Done.'),
    })
    await send(id, 'go')
    const names = toolNames(ofChildren()[0] as ModelRequest)
    expect(names).toContain('terminal')
    for (const name of ['delegate_task', 'clarify', 'memory', 'cronjob', 'send_message'])
      expect(names).not.toContain(name)
  })

  it('is not told of tools that it has not', async () => {
    const { id, scripted, ofChildren } = await conversation({
      parent: [delegate({ goal: 'Try everything.' }), says('ok')],
      child: () => says('Done.'),
    })
    await send(id, 'go')
    const guidance = 'Save with memory, without being asked'
    expect(JSON.stringify(ofChildren()[0])).not.toContain(guidance)
    expect(JSON.stringify(scripted.requests[0])).toContain(guidance)
  })

  it('gets no tool that its parent has not', async () => {
    const settings = { toolsets: { enabled: ['delegation', 'file'] } }
    const script = {
      parent: [delegate({ goal: 'Try everything.' }), says('ok')],
      child: () => says('Done.'),
    }
    const { id, ofChildren } = await conversation(script, settings)
    await send(id, 'go')
    expect(toolNames(ofChildren()[0] as ModelRequest).toSorted()).toEqual([
      'make_document',
      'patch',
      'read_file',
      'search_files',
      'write_file',
    ])
  })

  it('has only the toolsets that its task names, and never more than its parent', async () => {
    const tasks = [
      { goal: 'Only read files.', toolsets: ['file', 'web', 'memory'] },
      { goal: 'Only use the shell.', toolsets: ['terminal'] },
      { goal: 'Use one tool.', toolsets: ['read_file'], role: 'orchestrator' },
      { goal: 'Use everything.' },
    ]
    const settings = { toolsets: { enabled: ['delegation', 'file', 'terminal'] }, delegation: { max_spawn_depth: 2 } }
    const script = { parent: [delegate({ tasks }), says('ok')], child: () => says('Done.') }
    const { id, ofChildren } = await conversation(script, settings)
    await send(id, 'go')
    const names = new Map(ofChildren().map((asked) => [goalOf(asked), toolNames(asked).toSorted()]))
    const file = ['make_document', 'patch', 'read_file', 'search_files', 'write_file']
    expect(names.get('Only read files.')).toEqual(file)
    expect(names.get('Only use the shell.')).toEqual(['process', 'terminal'])
    expect(names.get('Use one tool.')).toEqual(['delegate_task', 'read_file'])
    expect(names.get('Use everything.')).toEqual([...file, 'process', 'terminal'].toSorted())
  })

  it.each([
    [['fiel'], /no toolset or tool fiel\. Your toolsets: .*file/],
    [['web'], /nothing of web/],
  ])('is refused with the toolsets %j', async (toolsets, message) => {
    const settings = { toolsets: { enabled: ['delegation', 'file'] } }
    const script = { parent: [delegate({ goal: 'Try everything.', toolsets }), says('ok')], child: () => says('Done.') }
    const { id, scripted } = await conversation(script, settings)
    await send(id, 'go')
    expect(JSON.stringify(scripted.requests[1])).toMatch(message)
    expect(await treeOf(id)).toEqual([])
  })

  it('may be delegated further by an orchestrator, down to the limit', async () => {
    const settings = { delegation: { max_spawn_depth: 2 } }
    const child = (goal: string, asked: ModelRequest) => {
      if (goal === 'Top of it all.')
        return resultsIn(asked) ? says('All is done.') : delegate({ goal: 'Bottom of it all.', role: 'orchestrator' })
      return says(toolNames(asked).includes('delegate_task') ? 'I could go on.' : 'I am a leaf.')
    }
    const parent = [delegate({ goal: 'Top of it all.', role: 'orchestrator' }), says('ok')]
    const { id } = await conversation({ parent, child }, settings)
    await send(id, 'go')
    expect((await resultsOf(id))[0]?.results[0]?.summary).toBe('All is done.')
    const [top] = await treeOf(id)
    expect(top).toMatchObject({ depth: 1, status: 'completed', children: [{ depth: 2, status: 'completed' }] })
    expect((await resultsOf(top?.session_id ?? ''))[0]?.results[0]?.summary).toBe('I am a leaf.')
  })

  it('is limited as the description of the tool says', async () => {
    const { id, scripted } = await conversation(
      { parent: [says('Hello.')], child: () => says('') },
      { delegation: { max_concurrent_children: 7 } },
    )
    await send(id, 'hi')
    const tool = scripted.requests[0]?.tools?.find((one) => one.function.name === 'delegate_task')
    expect(JSON.stringify(tool)).toContain('7 run at once')
  })

  it.each([
    [{ goal: 'x', tasks: [{ goal: 'Another goal here.' }] }, 'not both'],
    [{}, 'Give a goal'],
    [{ tasks: [{ goal: 'short' }] }, 'At least 10 characters'],
    [{ action: 'steer', subagent_id: 'ses_1', message: 'x' }, 'There is no subagent'],
    [{ action: 'stop', subagent_id: 'ses_1' }, 'There is no subagent'],
  ])('is refused with %j', async (input, why) => {
    const { id } = await conversation({ parent: [delegate(input), says('ok')], child: () => says('') })
    await send(id, 'go')
    expect(JSON.stringify((await stored(id)).find(({ role }) => role === 'tool'))).toContain(why)
    expect(await childrenOf(id)).toEqual([])
  })
})

describe('a batch', () => {
  const tasks = ['first', 'second', 'third'].map((name) => ({ goal: `The ${name} goal.` }))

  it('gives its results in the order of the tasks, once all have ended (DE2)', async () => {
    const gates = tasks.map(() => new Gate())
    const { id } = await conversation({
      parent: [delegate({ tasks }), says('Thanks.')],
      child: (goal) => [gates[tasks.findIndex((task) => task.goal === goal)] as Gate, ...(says(`Did: ${goal}`) as [])],
    })
    const running = send(id, 'go')
    for (const gate of gates) await gate.waitUntilReached()
    for (const gate of gates.toReversed()) gate.open()
    expect((await running).output).toBe('Thanks.')
    const [result] = await resultsOf(id)
    expect(result?.results.map(({ task_index: n, summary }) => [n, summary])).toEqual([
      [0, 'Did: The first goal.'],
      [1, 'Did: The second goal.'],
      [2, 'Did: The third goal.'],
    ])
  })

  it('that is larger than the limit runs in order, and says so', async () => {
    let [now, most] = [0, 0]
    const gate = new Gate()
    const { id, ofChildren } = await conversation(
      {
        parent: [delegate({ tasks }), says('Thanks.')],
        child: (goal) => {
          most = Math.max(most, ++now)
          return [gate, ...(says(`Did: ${goal}`) as [])]
        },
      },
      { delegation: { max_concurrent_children: 1 } },
    )
    const running = send(id, 'go')
    await gate.waitUntilReached()
    // Another session has a whole turn meanwhile.
    const other = await conversation({ parent: [says('Hello.')], child: () => says('never') })
    await send(other.id, 'go')
    expect(ofChildren()).toHaveLength(1)
    now = 0
    gate.open()
    await running
    const [result] = await resultsOf(id)
    expect(result?.note).toContain('1 ran at once')
    expect(result?.results.map(({ status }) => status)).toEqual(['completed', 'completed', 'completed'])
    expect(ofChildren().map((asked) => listTexts(asked)[0]?.includes('first'))).toEqual([true, false, false])
    expect(most).toBeLessThanOrEqual(2)
  })

  it('reports one that fails beside the others', async () => {
    const { id } = await conversation({
      parent: [delegate({ tasks: tasks.slice(0, 2) }), says('Thanks.')],
      child: (goal) =>
        goal.includes('first') ? { status: 400, body: '{"error":{"message":"bad"}}' } : says('I did mine.'),
    })
    await send(id, 'go')
    const [result] = await resultsOf(id)
    expect(result?.results).toMatchObject([{ status: 'failed' }, { status: 'completed', summary: 'I did mine.' }])
    expect(result?.results[0]?.['error']).toBeTruthy()
  })

  it('shows its progress as events', async () => {
    const { id } = await conversation({ parent: [delegate({ tasks }), says('Thanks.')], child: () => says('Done.') })
    await send(id, 'go')
    const text = await (await request('GET', `/api/sessions/${id}/export?format=json`)).text()
    expect(text).toContain('Thanks.')
    const tree = await treeOf(id)
    expect(tree.map(({ status, goal }) => [status, goal])).toEqual(tasks.map(({ goal }) => ['completed', goal]))
  })
})

describe('an answer with a schema', () => {
  const output_schema = { type: 'object', properties: { n: { type: 'integer' } }, required: ['n'] }
  const start = (answers: readonly string[]) => {
    let nth = 0
    return conversation({
      parent: [delegate({ goal: 'Count the files.', output_schema }), says('ok')],
      child: () => says(answers[nth++] ?? 'nothing'),
    })
  }

  it.each([
    ['fits at once', ['{"n":3}'], 1],
    ['fits after one repair', ['three', '{"n":3}'], 2],
  ] as const)('%s', async (_name, answers, asked) => {
    const { id, ofChildren } = await start(answers)
    await send(id, 'go')
    expect((await resultsOf(id))[0]?.results).toMatchObject([{ schema_valid: true, summary: '{"n":3}' }])
    expect(ofChildren()).toHaveLength(asked)
  })

  it('is reported as invalid when it does not fit after the repair', async () => {
    const { id, ofChildren } = await start(['three', 'still three', '{"n":3}'])
    await send(id, 'go')
    const [result] = await resultsOf(id)
    expect(result?.results).toMatchObject([{ status: 'failed', schema_valid: false }])
    expect(result?.results[0]?.['schema_errors']).toHaveLength(1)
    expect(ofChildren()).toHaveLength(2)
  })
})

describe('the cost of subagents', () => {
  it('is part of the run and the session of the parent, and counts once for the tenant (DE4)', async () => {
    const { id } = await conversation({
      parent: [delegate({ tasks: [{ goal: 'The first goal.' }, { goal: 'The second goal.' }] }), says('ok')],
      child: () => says('Done.'),
    })
    const { run_id: run, usage } = await send(id, 'go')
    // Two calls of the parent, one of each subagent: 60 fresh and 40 cached tokens each.
    expect(usage).toMatchObject({ input: 240, output: 40 })
    expect(await usageOf(`/api/sessions/${id}/runs/${String(run)}`)).toMatchObject({ input: 240, output: 40 })
    expect(await usageOf(`/api/sessions/${id}`)).toMatchObject({ input: 240, output: 40 })
    await until(async () => (await tokensOfTree(id)) === 240)
    await send(id, 'again')
    expect(await usageOf(`/api/sessions/${id}`)).toMatchObject({ input: 300, output: 50 })
    await until(async () => (await tokensOfTree(id)) === 300)
  })

  it('stays within what is left of the limits of the parent', async () => {
    const { id, ofChildren } = await conversation(
      {
        parent: [delegate({ tasks: [{ goal: 'The first goal.' }, { goal: 'The second goal.' }] }), says('ok')],
        child: () => calls({ name: 'todo', input: {} }),
      },
      { limits: { tokens_per_turn: 1_000 } },
    )
    await send(id, 'go')
    const [result] = await resultsOf(id)
    expect(result?.results.map(({ exit_reason: reason }) => reason)).toEqual(['out_of_budget', 'out_of_budget'])
    // 890 tokens are left after the first call of the parent: 445 for each subagent, and a call takes 110.
    expect(ofChildren().length).toBeGreaterThan(4)
    expect(ofChildren().length).toBeLessThanOrEqual(10)
  })
})

/** The report of the tenant over a conversation and its subagents. Other tests use the same tenant. */
async function tokensOfTree(id: string): Promise<number> {
  const reports = [id, ...(await childrenOf(id))].map(async (session) => {
    const { body } = await call<{ data: readonly { readonly usage?: { input: number }; readonly input?: number }[] }>(
      'GET',
      `/api/usage?session_id=${session}`,
    )
    return body.data.reduce((sum, one) => sum + (one.usage?.input ?? one.input ?? 0), 0)
  })
  return (await Promise.all(reports)).reduce((sum, each) => sum + each, 0)
}

describe('files', () => {
  it('of the parent are there, and changed ones come back', async () => {
    const { id } = await conversation({
      parent: [delegate({ goal: 'Change the files.' }), says('ok')],
      child: (_goal, asked) =>
        resultsIn(asked)
          ? says('Changed.')
          : calls({
              name: 'terminal',
              input: { command: 'cat a.txt; echo new > b.txt; echo more >> a.txt; rm c.txt' },
            }),
    })
    for (const [name, body] of Object.entries({ 'a.txt': 'from the parent\n', 'c.txt': 'x', 'd.txt': 'same' }))
      await request('PUT', `/api/sessions/${id}/files/${name}`, { body })
    await send(id, 'go')
    const [result] = await resultsOf(id)
    expect(result?.results[0]?.['files']).toEqual([
      { path: 'a.txt', change: 'modified' },
      { path: 'b.txt', change: 'created' },
      { path: 'c.txt', change: 'deleted' },
    ])
    const read = async (name: string) => (await request('GET', `/api/sessions/${id}/files/${name}`)).text()
    expect(await read('a.txt')).toBe('from the parent\nmore\n')
    expect(await read('b.txt')).toBe('new\n')
    expect(await read('d.txt')).toBe('same')
    expect((await request('GET', `/api/sessions/${id}/files/c.txt`)).status).toBe(404)
  })

  it('that two subagents have changed keep the version of the first', async () => {
    const { id } = await conversation({
      parent: [delegate({ tasks: [{ goal: 'Write one into it.' }, { goal: 'Write two into it.' }] }), says('ok')],
      child: (goal, asked) =>
        resultsIn(asked)
          ? says('Written.')
          : calls({ name: 'write_file', input: { path: 'a.txt', content: goal.includes('one') ? 'one' : 'two' } }),
    })
    await send(id, 'go')
    const [result] = await resultsOf(id)
    expect(result?.results.map(({ files }) => files)).toEqual([
      [{ path: 'a.txt', change: 'created' }],
      [{ path: 'a.txt', change: 'conflict' }],
    ])
    expect(await (await request('GET', `/api/sessions/${id}/files/a.txt`)).text()).toBe('one')
  })

  it('are not replaced by an agent that has read them before', async () => {
    const write = (content: string) => calls({ name: 'write_file', input: { path: 'a.txt', content } })
    const read = calls({ name: 'read_file', input: { path: 'a.txt' } })
    const { id } = await conversation({
      parent: [read, delegate({ goal: 'Change it.' }), write('mine'), read, write('both'), says('ok')],
      child: (_goal, asked) => (resultsIn(asked) ? says('Changed.') : write('theirs')),
    })
    await request('PUT', `/api/sessions/${id}/files/a.txt`, { body: 'first' })
    await send(id, 'go')
    const { body } = await call<{ data: { role: string; content: string }[] }>('GET', `/api/sessions/${id}/messages`)
    const results = body.data.filter(({ role }) => role === 'tool').map(({ content }) => content)
    expect(results[2]).toContain('changed_since_read')
    expect(results[3]).toContain('theirs')
    expect(await (await request('GET', `/api/sessions/${id}/files/a.txt`)).text()).toBe('both')
  })
})

describe('background work', () => {
  it('returns a handle at once, and comes back as one turn when all have ended', async () => {
    const gates = [new Gate(), new Gate()]
    const tasks = [{ goal: 'The first goal.' }, { goal: 'The second goal.' }]
    const { id, scripted } = await conversation({
      parent: [delegate({ tasks, background: true }), says('They work.'), says('Both are done.')],
      child: (goal) => [gates[goal.includes('first') ? 0 : 1] as Gate, ...(says(`Did: ${goal}`) as [])],
    })
    expect((await send(id, 'go')).output).toBe('They work.')
    const [handle] = await resultsOf(id)
    expect(handle).toMatchObject({ status: 'dispatched', mode: 'background', count: 2 })
    gates[1]?.open()
    await until(async () => (await treeOf(id))[1]?.status === 'completed')
    expect(await linesOf(id)).toHaveLength(4)
    gates[0]?.open()
    await until(async () => (await linesOf(id)).at(-1) === 'assistant: Both are done.')
    const lines = await linesOf(id)
    expect(lines).toHaveLength(6)
    expect(lines[4]).toMatch(/^subagent: \[The background delegation/)
    expect(lines[4]).toMatch(/Did: The first goal.*Did: The second goal/)
    await rest(id)
    expect(await linesOf(id)).toHaveLength(6)
    expect(scripted.requests).toHaveLength(5)
  })

  it('is listed, steered and stopped', async () => {
    const gate = new Gate()
    let sub = ''
    const { id, ofChildren } = await conversation({
      parent: [
        delegate({ goal: 'Work for long.', background: true }),
        says('It works.'),
        delegate({ action: 'list' }),
        says('Listed.'),
      ],
      child: (_goal, asked) =>
        resultsIn(asked) ? says('Steered.') : [gate, ...(calls({ name: 'todo', input: {} }) as [])],
    })
    await send(id, 'go')
    ;[sub = ''] = await childrenOf(id)
    await gate.waitUntilReached()
    await send(id, 'list them')
    expect((await resultsOf(id))[1]).toMatchObject({ subagents: [{ subagent_id: sub, status: 'running' }] })
    expect(await steer(id, sub, 'Also look at b.')).toMatchObject({ status: 'sent' })
    gate.open()
    await until(async () => (await treeOf(id))[0]?.status === 'completed')
    expect(listTexts(ofChildren()[1] as ModelRequest).join('\n')).toContain('Also look at b.')
    // The turn that brings its result may begin just before, and takes the message then.
    const late = await until(async () => {
      const result = (await steer(id, sub, 'Too late.')) as { readonly status: string } | undefined
      return result?.status === 'sent' ? undefined : result
    })
    expect(late).toMatchObject({ status: 'missed', missed_steer: expect.stringContaining('Too late.') })
  })

  /** Steers in a turn of its own, with another model. */
  async function steer(id: string, sub: string, message: string) {
    const other = model([delegate({ action: 'steer', subagent_id: sub, message }), says('ok')])
    await until(async () => (await call('GET', `/api/sessions/${id}`)).body['status'] === 'idle')
    await send(id, 'steer it', { model: other.id })
    return (await resultsOf(id)).at(-1)
  }
})

describe('a stop', () => {
  it('of the turn stops the whole tree', async () => {
    const gate = new Gate()
    const { id } = await conversation(
      {
        parent: [delegate({ goal: 'Top of it all.', role: 'orchestrator' })],
        child: (goal) => (goal.startsWith('Top') ? delegate({ goal: 'Bottom of it all.' }) : hangs(gate)),
      },
      { delegation: { max_spawn_depth: 2 } },
    )
    const running = send(id, 'go')
    await gate.waitUntilReached()
    await call('POST', `/api/sessions/${id}/stop`)
    expect((await running)['status']).toBe('cancelled')
    const top = async () => (await treeOf(id))[0]
    await until(async () => (await top())?.status === 'interrupted')
    await until(async () => (await top())?.children[0]?.status === 'interrupted')
    gate.open()
  })

  it('of an idle session stops what works in the background', async () => {
    const gate = new Gate()
    const { id } = await conversation({
      parent: [delegate({ goal: 'Work for long.', background: true }), says('It works.'), says('So it was stopped.')],
      child: () => hangs(gate),
    })
    await send(id, 'go')
    await gate.waitUntilReached()
    expect((await call('POST', `/api/sessions/${id}/stop`)).status).toBe(202)
    await until(async () => (await treeOf(id))[0]?.status === 'interrupted')
    await until(async () => (await linesOf(id)).at(-1) === 'assistant: So it was stopped.')
    gate.open()
  })

  it('of the key ends its subagents', async () => {
    const { id: tenant, key } = await newTenant(['chat', 'read'])
    const gate = new Gate()
    const start = delegate({ goal: 'Work for long.', background: true })
    const scripted = model((asked) => (goalOf(asked) ? hangs(gate) : resultsIn(asked) ? says('It works.') : start))
    const { id } = await newSession({ model: scripted.id }, key)
    void call('POST', `/api/sessions/${id}/chat`, { key, body: { input: 'go' } }).catch(() => undefined)
    await gate.waitUntilReached()
    const { body } = await call<{ data: { id: string }[] }>('GET', `/api/admin/keys?tenant_id=${tenant}`)
    for (const { id: keyId } of body.data) await call('DELETE', `/api/admin/keys/${keyId}`)
    const tree = () => objectOf(id, tenant).subagents.tree({ ...internal, tenantId: tenant })
    await until(async () => (await tree())?.[0]?.status === 'interrupted')
    expect((await tree())?.[0]?.ended_at).not.toBeNull()
    gate.open()
  })

  it('of the session deletes its subagents when it is deleted', async () => {
    const gate = new Gate()
    const { id } = await conversation({ parent: [delegate({ goal: 'Work for long.' })], child: () => hangs(gate) })
    void send(id, 'go').catch(() => undefined)
    await gate.waitUntilReached()
    const [child = ''] = await childrenOf(id)
    expect((await call('DELETE', `/api/sessions/${id}`)).status).toBe(204)
    expect((await call('GET', `/api/sessions/${child}`)).status).toBe(404)
    gate.open()
  })
})

describe('the demonstration model', () => {
  it('delegates, and its subagent works on the goal', async () => {
    const { id } = await newSession({ model: 'demo/agent' })
    const { output } = await send(id, 'delegate: write notes.txt: from below')
    expect(output).toContain('delegate_task returned')
    const [result] = await resultsOf(id)
    expect(result?.results[0]).toMatchObject({ status: 'completed', files: [{ path: 'notes.txt', change: 'created' }] })
    expect(await (await request('GET', `/api/sessions/${id}/files/notes.txt`)).text()).toBe('from below')
  })
})

describe('a limit of concurrent turns', () => {
  it('of one lets the subagent run while its parent rests', async () => {
    const { id: tenant, key } = await newTenant()
    await call('PATCH', `/api/admin/tenants/${tenant}`, { body: { limits: { concurrent_turns: 1 } } })
    const scripted = model((asked) =>
      goalOf(asked) ? says('Done.') : resultsIn(asked) ? says('Thanks.') : delegate({ goal: 'Do it for me.' }),
    )
    const { id } = await newSession({ model: scripted.id }, key)
    const { body } = await call('POST', `/api/sessions/${id}/chat`, { key, body: { input: 'go' } })
    expect(body).toMatchObject({ status: 'completed', output: 'Thanks.' })
    expect(scripted.requests).toHaveLength(3)
  })
})

describe('a limit of turns that no person has started', () => {
  it('is named by the subagent that waits for it', async () => {
    const { id: tenant, key } = await newTenant()
    const limits = { unattended_turns_per_hour: 1 }
    await call('PATCH', `/api/admin/tenants/${tenant}`, { body: { limits } })
    const tasks = [{ goal: 'Do the first part.' }, { goal: 'Do the second part.' }]
    const scripted = model((asked) => (goalOf(asked) ? says('Done.') : delegate({ tasks })))
    const { id } = await newSession({ model: scripted.id }, key)
    await call('POST', `/api/sessions/${id}/steer`, { key, body: { input: 'go' } })
    const children = async () => {
      const { body } = await call<{ children: unknown[] }>('GET', `/api/sessions/${id}/tree`, { key })
      return body.children
    }
    const waiting = { status: 'queued', activity: 'waits for the limit unattended_turns_per_hour' }
    await expect.poll(children).toContainEqual(expect.objectContaining(waiting))
  })
})
