import { describe, expect, it } from 'vitest'
import { drive } from '../../../src/agent/loop/drive.ts'
import { allowCall, settlePendingCall, requestStop } from '../../../src/agent/loop/intake.ts'
import { errorResult, type Message, textIn, userText } from '../../../src/agent/model/message.ts'
import { Bench, calls, Evicted, fails, says } from '../support/scripted.ts'
import { askPerson, danger, failing, readFile, writeFile } from '../support/tools.ts'

const roles = (bench: Bench) => bench.store.transcript().map((message) => message.role)
const last = (bench: Bench) => textIn(bench.store.transcript().at(-1) as Message)
const nth = (bench: Bench, n: number) => textIn(bench.store.transcript()[n] as Message)
const save = (bench: Bench, commit: Parameters<Bench['store']['save']>[0]) => {
  bench.store.save(commit)
  bench.store.write()
}

const onlyEvicted = (error: unknown) => {
  if (!(error instanceof Evicted)) throw error
}

describe('a turn', () => {
  it('ends when the model answers without calling tools', async () => {
    const bench = new Bench([says('hello')])
    expect((await bench.run()).stage).toMatchObject({ at: 'done', outcome: 'answered' })
    expect(roles(bench)).toEqual(['user', 'assistant'])
  })

  it('feeds tool results back in the order they were asked for', async () => {
    const bench = new Bench([calls('read_file', 'write_file'), says('done')], { tools: [readFile, writeFile] })
    await bench.run()
    expect(roles(bench)).toEqual(['user', 'assistant', 'tool', 'tool', 'assistant'])
    expect(bench.ran).toEqual(['read_file', 'write_file'])
  })

  it('tells the model about a tool that does not exist, without running anything', async () => {
    const bench = new Bench([calls('nope'), says('sorry')])
    await bench.run()
    expect(nth(bench, 2)).toContain('There is no tool named nope.')
  })

  it('runs the good call of a batch and answers the unknown one with an error', async () => {
    const bench = new Bench([calls('read_file', 'nope'), says('ok')], { tools: [readFile] })
    await bench.run()
    expect(bench.ran).toEqual(['read_file'])
    expect(nth(bench, 3)).toContain('There are: read_file.')
  })

  it('does not run calls from a message that was cut off', async () => {
    const bench = new Bench([{ ...calls('write_file'), stop: 'length' }, says('again')], { tools: [writeFile] })
    await bench.run()
    expect(bench.ran).toEqual([])
  })

  it('does not run calls that could not be written down', async () => {
    const bench = new Bench([calls('write_file'), says('never')], { tools: [writeFile] })
    const { write } = bench.store
    bench.store.write = () => {
      if (bench.store.turn().stage.at === 'tools') throw new Error('disk full')
      write()
    }
    await expect(bench.run()).rejects.toThrow('disk full')
    expect(bench.ran).toEqual([])
  })

  it('does not run a call whose arguments are not JSON', async () => {
    const broken = calls('write_file')
    const content = broken.content.map((part) => (part.type === 'call' ? { ...part, raw: '{"path": ' } : part))
    const bench = new Bench([{ ...broken, content }, says('again')], { tools: [writeFile] })
    await bench.run()
    expect(bench.ran).toEqual([])
    expect(nth(bench, 2)).toContain('not valid JSON')
  })

  it('gives every call of a batch an id of its own', async () => {
    const twins = calls('read_file', 'write_file')
    const content = twins.content.map((part) => (part.type === 'call' ? { ...part, id: 'same' } : part))
    const bench = new Bench([{ ...twins, content }, says('ok')], { tools: [readFile, writeFile] })
    await bench.run()
    const ids = bench.store.transcript().flatMap((message) => (message.role === 'tool' ? [message.callId] : []))
    expect(ids).toEqual(['same', 'same_d2'])
  })

  it('tells a model that repeats a failing call that it does', async () => {
    const bench = new Bench((_t, _u, n) => (n < 2 ? calls('failing') : says('I give up')), { tools: [failing] })
    await bench.run()
    expect(nth(bench, 2)).toBe('no')
    expect(nth(bench, 4)).toContain('failed 2 times in a row')
  })

  it('asks again after an empty answer, and keeps the asking out of the transcript', async () => {
    const bench = new Bench([calls('read_file'), says(''), says('done')], { tools: [readFile] })
    await bench.run()
    expect(bench.steps.at(-1)).toMatchObject({ do: 'call-model', say: expect.stringContaining('results are in') })
    expect(roles(bench)).toEqual(['user', 'assistant', 'tool', 'assistant'])
  })

  it('explains itself when the model stays silent', async () => {
    const bench = new Bench(() => says(''))
    expect((await bench.run()).stage).toMatchObject({ at: 'done', outcome: 'failed' })
    expect(bench.modelCalls).toBe(4)
    expect(last(bench)).toContain('empty answers')
  })
})

describe('what people say while a turn runs', () => {
  it('goes into the last result of the running batch, marked as theirs', async () => {
    const bench = new Bench(
      (_t, _u, n) => {
        if (n === 0) bench.store.say(userText('and be quick'))
        return n === 0 ? calls('read_file', 'write_file') : says('ok')
      },
      { tools: [readFile, writeFile] },
    )
    await bench.run()
    expect(roles(bench)).toEqual(['user', 'assistant', 'tool', 'tool', 'assistant'])
    expect(nth(bench, 2)).not.toContain('and be quick')
    expect(nth(bench, 3)).toContain('[The user said, while this ran: and be quick]')
    expect(bench.store.inbox()).toEqual([])
  })

  it('keeps the turn going when it comes during the last answer', async () => {
    const bench = new Bench((_t, _u, n) => {
      if (n === 0) bench.store.say(userText('one more thing'))
      return says(`answer ${n}`)
    })
    await bench.run()
    expect(roles(bench)).toEqual(['user', 'assistant', 'user', 'assistant'])
    expect(last(bench)).toBe('answer 1')
  })

  it('takes the place of an answer that was cancelled for it', async () => {
    const bench = new Bench((_t, _u, n) => {
      if (n > 0) return says('the other thing')
      bench.store.say(userText('no, the other'), 'redirect')
      return { kind: 'aborted', message: '' }
    })
    await bench.run()
    expect(roles(bench)).toEqual(['user', 'assistant', 'user', 'assistant'])
    expect(nth(bench, 2)).toBe('no, the other')
    expect(last(bench)).toBe('the other thing')
  })
})

describe('the budget', () => {
  it('grants one grace call without tools, then ends', async () => {
    const bench = new Bench((_t, _u, n) => (n < 2 ? calls('read_file') : says('the best I have')), {
      tools: [readFile],
      limit: 2,
    })
    expect((await bench.run()).stage).toMatchObject({ at: 'done', outcome: 'out-of-budget' })
    expect(bench.modelCalls).toBe(3)
    expect(bench.steps.at(-1)).toMatchObject({ do: 'call-model', tools: false })
    expect(last(bench)).toBe('the best I have')
  })

  it('asks once more for a summary when the grace call wants tools, and never runs them', async () => {
    const bench = new Bench((_t, _u, n) => (n < 3 ? calls('read_file') : says('summary')), {
      tools: [readFile],
      limit: 2,
    })
    await bench.run()
    expect(bench.modelCalls).toBe(4)
    expect(bench.ran.length).toBe(2)
    expect(last(bench)).toBe('summary')
  })

  it('says itself what was done when there is still no text', async () => {
    const bench = new Bench(() => calls('read_file'), { tools: [readFile], limit: 2 })
    expect((await bench.run()).stage).toMatchObject({ at: 'done', outcome: 'out-of-budget' })
    expect(bench.modelCalls).toBe(4)
    expect(last(bench)).toContain('read_file ×2')
    expect(roles(bench)).toEqual(['user', 'assistant', 'tool', 'assistant', 'tool', 'assistant'])
  })
})

describe('stop', () => {
  it('ends the turn before the next model call', async () => {
    const bench = new Bench(
      (_t, _u, n) => {
        if (n === 0) bench.store.save(requestStop(bench.store.turn()))
        return calls('read_file')
      },
      { tools: [readFile] },
    )
    expect((await bench.run()).stage).toMatchObject({ at: 'done', outcome: 'stopped' })
    expect(roles(bench)).toEqual(['user', 'assistant', 'tool', 'assistant'])
  })

  it('cuts a wait short', async () => {
    const bench = new Bench((_t, _u, n) => (n ? says('late') : fails('rate', 60_000)))
    expect(await drive(bench)).toMatchObject({ do: 'rest', until: 61_000 })
    bench.now += 10_000
    save(bench, requestStop(bench.store.turn()))
    expect(await drive(bench)).toEqual({ do: 'rest' })
    expect(bench.store.turn()).toMatchObject({ stage: { at: 'done', outcome: 'stopped' }, waited: 10_000 })
    expect(bench.modelCalls).toBe(1)
  })

  it('keeps what was already said of the answer', async () => {
    const bench = new Bench(() => {
      bench.store.save(requestStop(bench.store.turn()))
      return { kind: 'aborted', message: '', partial: 'half an ans' }
    })
    await bench.run()
    expect(last(bench)).toBe('half an ans')
  })
})

describe('recovery', () => {
  it('waits as long as the provider asks', async () => {
    const bench = new Bench([fails('rate', 7_000), says('ok')])
    await bench.run()
    expect(bench.now).toBe(8_000)
  })

  it('takes the next key on a refused one, then the next model', async () => {
    const bench = new Bench([fails('auth'), fails('auth'), says('ok')])
    bench.chain = [2, 1]
    expect((await bench.run()).route).toEqual({ model: 1, avoid: ['key-0-0'], attempt: 0 })
    expect(bench.store.heard).toContain('provider.fallback')
  })

  it('compresses when the prompt does not fit', async () => {
    const bench = new Bench([fails('too-long'), says('ok')])
    await bench.run()
    expect(bench.store.transcript().map(textIn)).toEqual(['earlier: go', 'ok'])
  })

  it('compresses before the window is full', async () => {
    const bench = new Bench([says('ok')])
    bench.contextTokens = 80
    await bench.run()
    expect(bench.steps.map((step) => step.do)).toEqual(['compress', 'call-model'])
  })

  it('gives up on an invalid request, with the reason', async () => {
    const bench = new Bench([fails('invalid')])
    expect((await bench.run()).stage).toMatchObject({ outcome: 'failed', failure: { kind: 'invalid' } })
    expect(last(bench)).toContain('rejected the request')
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
    const bench = new Bench(() => fails(kind), { limit: 50 })
    bench.chain = [2, 2]
    expect((await bench.run()).stage).toMatchObject({ at: 'done', outcome: 'failed' })
    expect(last(bench)).toContain('I could not finish this')
    expect(roles(bench).at(-1)).toBe('assistant')
  })
})

describe('approval', () => {
  const bench = () => {
    const made = new Bench([calls('danger'), says('fine')], { tools: [danger] })
    made.asks = new Set(['exec'])
    return made
  }

  it('rests until a person decides, and tells the model when they say no', async () => {
    const asked = bench()
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

  it('runs the call when they say yes', async () => {
    const asked = bench()
    await asked.run()
    save(asked, allowCall(asked.store.turn(), 'danger-0', 'shown'))
    // Answering twice is answering once.
    save(asked, allowCall(asked.store.turn(), 'danger-0', 'shown'))
    await asked.run()
    expect(asked.ran).toEqual(['danger'])
  })

  it('closes open calls when the turn is stopped', async () => {
    const asked = bench()
    await asked.run()
    save(asked, requestStop(asked.store.turn()))
    expect((await asked.run()).stage).toMatchObject({ at: 'done', outcome: 'stopped' })
    expect(roles(asked)).toEqual(['user', 'assistant', 'tool', 'assistant'])
  })
})

describe('a call that takes long', () => {
  const answer = {
    role: 'tool',
    callId: 'clarify-1',
    name: 'clarify',
    content: [{ type: 'text', text: 'the blue one' }],
    failed: false,
  } as const

  it('lets the turn rest until its result is delivered, however often we are evicted or told', async () => {
    const bench = new Bench([calls('read_file', 'clarify'), says('done')], { tools: [readFile, askPerson] })
    await bench.run()
    bench.store.revive()
    await bench.run()
    expect(bench.ran).toEqual(['read_file', 'clarify'])
    save(bench, settlePendingCall(bench.store.turn(), answer, bench.view()))
    save(bench, settlePendingCall(bench.store.turn(), answer, bench.view()))
    await bench.run()
    expect(bench.store.transcript().map(textIn)).toEqual(['go', '', '{"contents":"of /tmp/x"}', 'the blue one', 'done'])
  })

  it('is heard of from the outside, in order', async () => {
    const bench = new Bench([calls('clarify'), says('done')], { tools: [askPerson] })
    await bench.run()
    save(bench, settlePendingCall(bench.store.turn(), { ...answer, callId: 'clarify-0' }, bench.view()))
    await bench.run()
    expect(bench.store.heard.join(', ')).toBe(
      'tool.started clarify, question.request, question.answered, tool.completed clarify, run.completed',
    )
  })
})

describe('an eviction at any write', () => {
  const story = () =>
    new Bench(
      (transcript) => {
        const results = transcript.filter((message) => message.role === 'tool').length
        if (results === 0) return calls('read_file', 'write_file')
        if (results === 2) return calls('write_file')
        return says('done')
      },
      { tools: [readFile, writeFile], limit: 3 },
    )

  it.each(['before', 'after'] as const)(
    '%s it is down: one result per call, nothing written twice, and an answer',
    async (when) => {
      const calm = story()
      await calm.run()
      for (let at = 1; at <= calm.store.writes; at++) {
        const bench = story()
        bench.store.evict = { at, when }
        await expect(bench.run()).rejects.toThrow(Evicted)
        bench.store.revive()
        const why = `evicted ${when} write ${at}`
        expect((await bench.run()).stage, why).toMatchObject({ at: 'done', outcome: 'answered' })
        expect(roles(bench), why).toEqual(roles(calm))
        expect(bench.ran.filter((name) => name === 'write_file').length, why).toBeLessThanOrEqual(2)
      }
    },
  )

  it('keeps the grace call: there is still an answer', async () => {
    for (const when of ['before', 'after'] as const)
      for (let at = 1; at <= 8; at++) {
        const bench = new Bench((_t, _u, n) => (n < 1 ? calls('read_file') : says('the best I have')), {
          tools: [readFile],
          limit: 1,
        })
        bench.store.evict = { at, when }
        await bench.run().catch(onlyEvicted)
        bench.store.revive()
        await bench.run()
        expect(last(bench), `${when} ${at}`).toBe('the best I have')
      }
  })

  it('tells those who saw the beginning of an answer that another one is coming', async () => {
    const bench = new Bench([says('first'), says('second')])
    bench.store.evict = { at: 2, when: 'before' }
    await expect(bench.run()).rejects.toThrow(Evicted)
    bench.store.revive()
    bench.store.heard = []
    await bench.run()
    expect(bench.store.heard).toEqual(['turn.restarted', 'status recovering', 'run.completed'])
  })

  it('that repeats for ever still ends', async () => {
    const bench = new Bench([], {})
    for (let i = 0; i < 30 && bench.store.turn().stage.at !== 'done'; i++) {
      bench.store.evict = { at: bench.store.writes + 2, when: 'before' }
      await bench.run().catch(onlyEvicted)
      bench.store.revive()
    }
    expect(bench.store.turn().stage).toMatchObject({ at: 'done', outcome: 'failed', failure: { kind: 'interrupted' } })
  })
})
