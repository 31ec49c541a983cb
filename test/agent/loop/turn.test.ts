import { describe, expect, it } from 'vitest'
import { drive } from '#agent/loop/drive.ts'
import { allowCall, settlePendingCall, requestStop } from '#agent/loop/turn-changes.ts'
import { errorResult, type Message, textIn, userText } from '#agent/core/message.ts'
import { LoopHarness, calls, Evicted, fails, says } from '../support/scripted.ts'
import { askPerson, delegate, danger, failing, readFile, writeFile } from '../support/tools.ts'

const roles = (harness: LoopHarness) => harness.store.transcript().map((message) => message.role)
const last = (harness: LoopHarness) => textIn(harness.store.transcript().at(-1) as Message)
const nth = (harness: LoopHarness, n: number) => textIn(harness.store.transcript()[n] as Message)
const save = (harness: LoopHarness, commit: Parameters<LoopHarness['store']['save']>[0]) => {
  harness.store.save(commit)
  harness.store.write()
}

const onlyEvicted = (error: unknown) => {
  if (!(error instanceof Evicted)) throw error
}

describe('a turn', () => {
  it('ends when the model answers without calling tools', async () => {
    const harness = new LoopHarness([says('hello')])
    expect((await harness.run()).stage).toMatchObject({ at: 'done', outcome: 'answered' })
    expect(roles(harness)).toEqual(['user', 'assistant'])
  })

  it('returns tool results in the order of the calls', async () => {
    const harness = new LoopHarness([calls('read_file', 'write_file'), says('done')], { tools: [readFile, writeFile] })
    await harness.run()
    expect(roles(harness)).toEqual(['user', 'assistant', 'tool', 'tool', 'assistant'])
    expect(harness.ran).toEqual(['read_file', 'write_file'])
  })

  it('tells the model about a tool that does not exist, without running anything', async () => {
    const harness = new LoopHarness([calls('nope'), says('sorry')])
    await harness.run()
    expect(nth(harness, 2)).toContain('There is no tool named nope.')
  })

  it('runs the valid call of a batch and answers the unknown one with an error', async () => {
    const harness = new LoopHarness([calls('read_file', 'nope'), says('ok')], { tools: [readFile] })
    await harness.run()
    expect(harness.ran).toEqual(['read_file'])
    expect(nth(harness, 3)).toContain('There are: read_file.')
  })

  it('does not run calls from a message that was cut off', async () => {
    const harness = new LoopHarness([{ ...calls('write_file'), stop: 'length' }, says('again')], { tools: [writeFile] })
    await harness.run()
    expect(harness.ran).toEqual([])
  })

  it('does not run calls when the store cannot write', async () => {
    const harness = new LoopHarness([calls('write_file'), says('never')], { tools: [writeFile] })
    const { write } = harness.store
    harness.store.write = () => {
      if (harness.store.turn().stage.at === 'tools') throw new Error('disk full')
      write()
    }
    await expect(harness.run()).rejects.toThrow('disk full')
    expect(harness.ran).toEqual([])
  })

  it('does not run a call whose arguments are not JSON', async () => {
    const broken = calls('write_file')
    const content = broken.content.map((part) => (part.type === 'call' ? { ...part, raw: '{"path": ' } : part))
    const harness = new LoopHarness([{ ...broken, content }, says('again')], { tools: [writeFile] })
    await harness.run()
    expect(harness.ran).toEqual([])
    expect(nth(harness, 2)).toContain('not valid JSON')
  })

  it('gives every call of a batch a unique id', async () => {
    const twins = calls('read_file', 'write_file')
    const content = twins.content.map((part) => (part.type === 'call' ? { ...part, id: 'same' } : part))
    const harness = new LoopHarness([{ ...twins, content }, says('ok')], { tools: [readFile, writeFile] })
    await harness.run()
    const ids = harness.store.transcript().flatMap((message) => (message.role === 'tool' ? [message.callId] : []))
    expect(ids).toEqual(['same', 'same_d2'])
  })

  it('warns a model that repeats a failing call', async () => {
    const harness = new LoopHarness((_t, _u, n) => (n < 2 ? calls('failing') : says('I give up')), { tools: [failing] })
    await harness.run()
    expect(nth(harness, 2)).toBe('no')
    expect(nth(harness, 4)).toContain('failed 2 times in a row')
  })

  it('asks again after an empty answer without storing the instruction', async () => {
    const harness = new LoopHarness([calls('read_file'), says(''), says('done')], { tools: [readFile] })
    await harness.run()
    expect(harness.steps.at(-1)).toMatchObject({
      do: 'call-model',
      instruction: expect.stringContaining('results are in'),
    })
    expect(roles(harness)).toEqual(['user', 'assistant', 'tool', 'assistant'])
  })

  it('ends with an explanation when the model sends only empty answers', async () => {
    const harness = new LoopHarness(() => says(''))
    expect((await harness.run()).stage).toMatchObject({ at: 'done', outcome: 'failed' })
    expect(harness.modelCalls).toBe(4)
    expect(last(harness)).toContain('empty answers')
  })
})

describe('a message that arrives during a turn', () => {
  it("joins the last result of the running batch, marked as the user's", async () => {
    const harness = new LoopHarness(
      (_t, _u, n) => {
        if (n === 0) harness.store.addToInbox(userText('and be quick'))
        return n === 0 ? calls('read_file', 'write_file') : says('ok')
      },
      { tools: [readFile, writeFile] },
    )
    await harness.run()
    expect(roles(harness)).toEqual(['user', 'assistant', 'tool', 'tool', 'assistant'])
    expect(nth(harness, 2)).not.toContain('and be quick')
    expect(nth(harness, 3)).toContain('[The user said, while this ran: and be quick]')
    expect(harness.store.inbox()).toEqual([])
  })

  it('continues the turn when it arrives during the last answer', async () => {
    const harness = new LoopHarness((_t, _u, n) => {
      if (n === 0) harness.store.addToInbox(userText('one more thing'))
      return says(`answer ${n}`)
    })
    await harness.run()
    expect(roles(harness)).toEqual(['user', 'assistant', 'user', 'assistant'])
    expect(last(harness)).toBe('answer 1')
  })

  it('cancels the current answer and follows it in the transcript', async () => {
    const harness = new LoopHarness((_t, _u, n) => {
      if (n > 0) return says('the other thing')
      harness.store.addToInbox(userText('no, the other'), 'redirect')
      return { kind: 'aborted', message: '' }
    })
    await harness.run()
    expect(roles(harness)).toEqual(['user', 'assistant', 'user', 'assistant'])
    expect(nth(harness, 2)).toBe('no, the other')
    expect(last(harness)).toBe('the other thing')
  })
})

describe('the budget', () => {
  it('allows one call without tools, then ends the turn', async () => {
    const harness = new LoopHarness((_t, _u, n) => (n < 2 ? calls('read_file') : says('the best I have')), {
      tools: [readFile],
      limit: 2,
    })
    expect((await harness.run()).stage).toMatchObject({ at: 'done', outcome: 'out-of-budget' })
    expect(harness.modelCalls).toBe(3)
    expect(harness.steps.at(-1)).toMatchObject({ do: 'call-model', tools: false })
    expect(last(harness)).toBe('the best I have')
  })

  it('asks once more for a summary when that call requests tools, and never runs them', async () => {
    const harness = new LoopHarness((_t, _u, n) => (n < 3 ? calls('read_file') : says('summary')), {
      tools: [readFile],
      limit: 2,
    })
    await harness.run()
    expect(harness.modelCalls).toBe(4)
    expect(harness.ran.length).toBe(2)
    expect(last(harness)).toBe('summary')
  })

  it('ends with a notice of the completed calls when there is still no text', async () => {
    const harness = new LoopHarness(() => calls('read_file'), { tools: [readFile], limit: 2 })
    expect((await harness.run()).stage).toMatchObject({ at: 'done', outcome: 'out-of-budget' })
    expect(harness.modelCalls).toBe(4)
    expect(last(harness)).toContain('read_file ×2')
    expect(roles(harness)).toEqual(['user', 'assistant', 'tool', 'assistant', 'tool', 'assistant'])
  })
})

describe('stop', () => {
  it('ends the turn before the next model call', async () => {
    const harness = new LoopHarness(
      (_t, _u, n) => {
        if (n === 0) harness.store.save(requestStop(harness.store.turn()))
        return calls('read_file')
      },
      { tools: [readFile] },
    )
    expect((await harness.run()).stage).toMatchObject({ at: 'done', outcome: 'stopped' })
    expect(roles(harness)).toEqual(['user', 'assistant', 'tool', 'assistant'])
  })

  it('ends a wait early', async () => {
    const harness = new LoopHarness((_t, _u, n) => (n ? says('late') : fails('rate', 60_000)))
    expect(await drive(harness)).toMatchObject({ do: 'rest', until: 61_000 })
    harness.now += 10_000
    save(harness, requestStop(harness.store.turn()))
    expect(await drive(harness)).toEqual({ do: 'rest' })
    expect(harness.store.turn()).toMatchObject({ stage: { at: 'done', outcome: 'stopped' }, waited: 10_000 })
    expect(harness.modelCalls).toBe(1)
  })

  it('keeps the text of an unfinished answer', async () => {
    const harness = new LoopHarness(() => {
      harness.store.save(requestStop(harness.store.turn()))
      return { kind: 'aborted', message: '', partial: 'half an ans' }
    })
    await harness.run()
    expect(last(harness)).toBe('half an ans')
  })
})

describe('recovery', () => {
  it('waits as long as the provider asks', async () => {
    const harness = new LoopHarness([fails('rate', 7_000), says('ok')])
    await harness.run()
    expect(harness.now).toBe(8_000)
  })

  it('uses the next key after a rejected one, then the next model', async () => {
    const harness = new LoopHarness([fails('auth'), fails('auth'), says('ok')])
    harness.chain = [2, 1]
    expect((await harness.run()).route).toMatchObject({ model: 1, avoid: ['key-0-0'], attempt: 0 })
    expect(harness.store.events).toContain('provider.fallback')
  })

  it('compresses when the prompt does not fit', async () => {
    const harness = new LoopHarness([fails('too-long'), says('ok')])
    await harness.run()
    expect(harness.store.transcript().map(textIn)).toEqual(['earlier: go', 'ok'])
  })

  it('compresses before the window is full', async () => {
    const harness = new LoopHarness([says('ok')])
    harness.contextTokens = 80
    await harness.run()
    expect(harness.steps.map((step) => step.do)).toEqual(['compress', 'call-model'])
  })

  it('gives up on an invalid request, with the reason', async () => {
    const harness = new LoopHarness([fails('invalid')])
    expect((await harness.run()).stage).toMatchObject({ outcome: 'failed', failure: { kind: 'invalid' } })
    expect(last(harness)).toContain('rejected the request')
  })

  it.each([
    'auth',
    'quota',
    'rate',
    'overloaded',
    'network',
    'too-long',
    'missing-model',
    'refused',
    'invalid',
    'unconfigured',
    'unknown',
  ] as const)('always ends with an explanation, whatever keeps failing: %s', async (kind) => {
    const harness = new LoopHarness(() => fails(kind), { limit: 50 })
    harness.chain = [2, 2]
    expect((await harness.run()).stage).toMatchObject({ at: 'done', outcome: 'failed' })
    expect(last(harness)).toContain('I could not finish this')
    expect(roles(harness).at(-1)).toBe('assistant')
  })
})

describe('approval', () => {
  const harness = () => {
    const made = new LoopHarness([calls('danger'), says('fine')], { tools: [danger] })
    made.risksToApprove = new Set(['exec'])
    return made
  }

  it('waits for a person, and tells the model about a denial', async () => {
    const asked = harness()
    expect((await asked.run()).stage.at).toBe('tools')
    save(
      asked,
      settlePendingCall(
        asked.store.turn(),
        errorResult({ id: 'danger-0', name: 'danger' }, 'did not allow'),
        asked.view(),
      ),
    )
    await asked.run()
    expect(asked.ran).toEqual([])
    expect(nth(asked, 2)).toContain('did not allow')
  })

  it('runs the call after a person allows it', async () => {
    const asked = harness()
    await asked.run()
    save(asked, allowCall(asked.store.turn(), 'danger-0', 'shown'))
    // Answering twice is answering once.
    save(asked, allowCall(asked.store.turn(), 'danger-0', 'shown'))
    await asked.run()
    expect(asked.ran).toEqual(['danger'])
  })

  it('closes open calls when the turn is stopped', async () => {
    const asked = harness()
    await asked.run()
    save(asked, requestStop(asked.store.turn()))
    expect((await asked.run()).stage).toMatchObject({ at: 'done', outcome: 'stopped' })
    expect(roles(asked)).toEqual(['user', 'assistant', 'tool', 'assistant'])
  })
})

it('a call that waits for a child session publishes no request, and its result continues the turn', async () => {
  const harness = new LoopHarness([calls('delegate'), says('done')], { tools: [delegate] })
  const { stage } = await harness.run()
  expect(stage).toMatchObject({ at: 'tools', calls: [{ state: 'away', awaits: { kind: 'child' } }] })
  expect(harness.store.events.some((event) => /request/.test(event))).toBe(false)
  harness.store.reload()
  const content = [{ type: 'text' as const, text: 'the child is done' }]
  const result = { role: 'tool' as const, callId: 'delegate-0', name: 'delegate', content, failed: false }
  save(harness, settlePendingCall(harness.store.turn(), result, harness.view()))
  expect((await harness.run()).stage).toMatchObject({ at: 'done', outcome: 'answered' })
  expect(harness.store.transcript().map(textIn)).toEqual(['go', '', 'the child is done', 'done'])
})

describe('a pending call', () => {
  const answer = {
    role: 'tool',
    callId: 'clarify-1',
    name: 'clarify',
    content: [{ type: 'text', text: 'the blue one' }],
    failed: false,
  } as const

  it('keeps the turn waiting until its result arrives, across evictions and repeated results', async () => {
    const harness = new LoopHarness([calls('read_file', 'clarify'), says('done')], { tools: [readFile, askPerson] })
    await harness.run()
    harness.store.reload()
    await harness.run()
    expect(harness.ran).toEqual(['read_file', 'clarify'])
    save(harness, settlePendingCall(harness.store.turn(), answer, harness.view()))
    save(harness, settlePendingCall(harness.store.turn(), answer, harness.view()))
    await harness.run()
    expect(harness.store.transcript().map(textIn)).toEqual([
      'go',
      '',
      '{"contents":"of /tmp/x"}',
      'the blue one',
      'done',
    ])
  })

  it('emits its events in order', async () => {
    const harness = new LoopHarness([calls('clarify'), says('done')], { tools: [askPerson] })
    await harness.run()
    save(harness, settlePendingCall(harness.store.turn(), { ...answer, callId: 'clarify-0' }, harness.view()))
    await harness.run()
    expect(harness.store.events.join(', ')).toBe(
      'tool.started clarify, question.request, run.waiting, question.answered, tool.completed clarify, run.completed',
    )
  })
})

describe('an eviction at any write', () => {
  const story = () =>
    new LoopHarness(
      (transcript) => {
        const results = transcript.filter((message) => message.role === 'tool').length
        if (results === 0) return calls('read_file', 'write_file')
        if (results === 2) return calls('write_file')
        return says('done')
      },
      { tools: [readFile, writeFile], limit: 3 },
    )

  it.each(['before', 'after'] as const)(
    '%s the commit: one result per call, no repeated effect, and an answer',
    async (when) => {
      const calm = story()
      await calm.run()
      for (let at = 1; at <= calm.store.writes; at++) {
        const harness = story()
        harness.store.evict = { at, when }
        await expect(harness.run()).rejects.toThrow(Evicted)
        harness.store.reload()
        const why = `evicted ${when} write ${at}`
        expect((await harness.run()).stage, why).toMatchObject({ at: 'done', outcome: 'answered' })
        expect(roles(harness), why).toEqual(roles(calm))
        expect(harness.ran.filter((name) => name === 'write_file').length, why).toBeLessThanOrEqual(2)
      }
    },
  )

  it('keeps the final call without tools, so there is still an answer', async () => {
    for (const when of ['before', 'after'] as const)
      for (let at = 1; at <= 8; at++) {
        const harness = new LoopHarness((_t, _u, n) => (n < 1 ? calls('read_file') : says('the best I have')), {
          tools: [readFile],
          limit: 1,
        })
        harness.store.evict = { at, when }
        await harness.run().catch(onlyEvicted)
        harness.store.reload()
        await harness.run()
        expect(last(harness), `${when} ${at}`).toBe('the best I have')
      }
  })

  it('announces a restart to clients that saw a part of the answer', async () => {
    const harness = new LoopHarness([says('first'), says('second')])
    harness.store.evict = { at: 2, when: 'before' }
    await expect(harness.run()).rejects.toThrow(Evicted)
    harness.store.reload()
    harness.store.events = []
    await harness.run()
    expect(harness.store.events).toEqual(['turn.restarted', 'status recovering', 'run.completed'])
  })

  it('does not repeat for ever', async () => {
    const harness = new LoopHarness([], {})
    for (let i = 0; i < 30 && harness.store.turn().stage.at !== 'done'; i++) {
      harness.store.evict = { at: harness.store.writes + 2, when: 'before' }
      await harness.run().catch(onlyEvicted)
      harness.store.reload()
    }
    expect(harness.store.turn().stage).toMatchObject({
      at: 'done',
      outcome: 'failed',
      failure: { kind: 'interrupted' },
    })
  })
})
