import { describe, expect, it } from 'vitest'
import { settlePendingCall } from '../../../src/agent/loop/intake.ts'
import { type Message, textIn } from '../../../src/agent/model/message.ts'
import type { Turn } from '../../../src/agent/model/turn.ts'
import { Bench, calls, fails, says } from '../support/scripted.ts'
import { askPerson, readFile } from '../support/tools.ts'

const last = (bench: Bench) => textIn(bench.store.transcript().at(-1) as Message)
/** Fails with these, one after the other, then answers. */
const after = (...failures: readonly ReturnType<typeof fails>[]) => new Bench((_t, _u, n) => failures[n] ?? says('ok'))
const did = (turn: Turn) => turn.notes.map((note) => note.did)

describe('waiting', () => {
  it.each([
    ['as long as told', 30_000, 30_000],
    ['no longer than ten minutes', 3_000_000, 600_000],
  ])('%s', async (_name, told, waited) => {
    const bench = after(fails('rate', told))
    bench.chain = [1]
    const turn = await bench.run()
    expect(turn.waited).toBe(waited)
    expect(bench.now).toBe(1_000 + waited)
  })

  it('grows with every try on one model, and is given up after three', async () => {
    const bench = new Bench(() => fails('server'))
    const turn = await bench.run()
    expect(did(turn)).toEqual(['wait 2000 ms', 'wait 4000 ms', 'wait 8000 ms'])
    expect(bench.modelCalls).toBe(4)
  })

  it('is longer by up to a half, so that not all come back at once', async () => {
    const bench = after(fails('server'), fails('server'))
    bench.dice = 0.5
    expect(did(await bench.run())).toEqual(['wait 2500 ms', 'wait 5000 ms'])
  })

  it('for a provider that is known to be overloaded for long begins long, and grows', async () => {
    const bench = new Bench(() => fails('overloaded'))
    bench.overloadMs = 30_000
    expect(did(await bench.run())).toEqual(['wait 30000 ms', 'wait 60000 ms', 'wait 90000 ms'])
    const told = after(fails('overloaded', 5_000), fails('server'))
    told.overloadMs = 30_000
    expect(did(await told.run())).toEqual(['wait 5000 ms', 'wait 4000 ms'])
  })

  it('has an end for the whole turn', async () => {
    const bench = new Bench(() => fails('rate', 400_000))
    bench.limits = { ...bench.limits, maxWaitMs: 500_000 }
    const turn = await bench.run()
    expect(turn.waited).toBe(400_000)
    expect(turn.stage).toMatchObject({ outcome: 'failed' })
  })
})

describe('a rate limit', () => {
  it('is tried once more with the same key, then with the next', async () => {
    const bench = after(fails('rate'), fails('rate'))
    bench.chain = [2]
    const turn = await bench.run()
    expect(did(turn)).toEqual(['wait 2000 ms', 'next key'])
    expect(turn.route.avoid).toEqual(['key-0-0'])
  })

  it('does not use up the tries of ten keys', async () => {
    const bench = new Bench((_t, turn) => (turn.route.avoid.length < 9 ? fails('rate') : says('the tenth')))
    bench.chain = [10]
    const turn = await bench.run()
    expect(last(bench)).toBe('the tenth')
    expect(did(turn)).toEqual(Array.from({ length: 9 }, () => ['wait 2000 ms', 'next key']).flat())
  })

  it('of an aggregator is not the fault of the key', async () => {
    const bench = after(fails('upstream-rate'))
    bench.chain = [2, 1]
    const turn = await bench.run()
    expect(turn.route).toEqual({ model: 1, avoid: [], attempt: 0 })
  })
})

describe('fallback', () => {
  it('passes over models without a usable key', async () => {
    const bench = after(fails('missing-model'))
    bench.chain = [1, 0, 1]
    expect((await bench.run()).route.model).toBe(2)
  })

  it('begins with the first model that can be used', async () => {
    const bench = after()
    bench.chain = [0, 1]
    expect((await bench.run()).route.model).toBe(1)
  })

  it('comes after two tries at an overloaded provider, and at once when nothing comes at all', async () => {
    const busy = after(fails('overloaded'), fails('overloaded'), fails('overloaded'))
    busy.chain = [3, 1]
    expect(did(await busy.run())).toEqual(['wait 2000 ms', 'wait 4000 ms', 'fall back to model-1'])
    const silent = new Bench((_t, turn) => (turn.route.model ? says('ok') : fails('stalled')))
    silent.chain = [1, 1]
    expect(did(await silent.run())).toEqual(['reconnect', 'reconnect', 'fall back to model-1'])
  })

  it('is asked once about what a model declines, and no third model', async () => {
    const bench = new Bench(() => fails('refused'))
    bench.chain = [1, 1, 1]
    await bench.run()
    expect(bench.modelCalls).toBe(2)
    expect(last(bench)).toContain('declined')
  })
})

describe('a model that says nothing', () => {
  it('is not asked again once it has been silent five times in a row, in whatever turn', async () => {
    const mute = new Bench((_t, turn) => (turn.route.model ? says('ok') : fails('stalled')))
    mute.chain = [1, 1]
    mute.stalls = 5
    expect(did(await mute.run())).toEqual(['fall back to model-1'])
    const alone = new Bench(() => fails('stalled'))
    alone.stalls = 5
    expect(did(await alone.run())).toEqual([])
    expect(last(alone)).toContain('sending nothing')
  })
})

describe('the time of a turn', () => {
  const reading = (bench: Bench) => {
    bench.limits = { ...bench.limits, maxTurnMs: 60_000 }
    return bench
  }

  const answered = (bench: Bench) => {
    const content = [{ type: 'text', text: 'the blue one' }] as const
    const answer = { role: 'tool', callId: 'clarify-0', name: 'clarify', content, failed: false } as const
    bench.store.save(settlePendingCall(bench.store.turn(), answer, bench.view()))
  }

  it('ends its tools, and the model says what it has', async () => {
    const bench = reading(
      new Bench(
        (_t, turn) => {
          bench.now += 25_000
          return turn.guard.halted ? says('All I have.') : calls('read_file')
        },
        { tools: [readFile], limit: 50 },
      ),
    )
    expect((await bench.run()).stage).toMatchObject({ outcome: 'out-of-budget' })
    expect(bench.modelCalls).toBe(4)
    expect(bench.steps.at(-1)).toMatchObject({ tools: false, say: expect.stringContaining('60 seconds') })
    expect(last(bench)).toBe('All I have.')
  })

  it('is not waited away: a pause that goes beyond it is none', async () => {
    const bench = reading(new Bench(() => fails('rate', 50_000)))
    const turn = await bench.run()
    expect(did(turn)).toEqual(['wait 50000 ms'])
    expect(turn.stage).toMatchObject({ outcome: 'failed', failure: { kind: 'rate' } })
  })

  it('is over in the middle of an answer: the last words are asked for, once', async () => {
    const bench = reading(
      new Bench((_t, turn) => {
        bench.now += 70_000
        return turn.guard.halted ? says('All I have.') : fails('stalled')
      }),
    )
    expect((await bench.run()).stage).toMatchObject({ outcome: 'out-of-budget' })
    expect(bench.steps.map((step) => step.do === 'call-model' && step.tools)).toEqual([true, false])
    const dead = reading(
      new Bench(() => {
        dead.now += 70_000
        return fails('stalled')
      }),
    )
    expect((await dead.run()).stage).toMatchObject({ outcome: 'failed', failure: { kind: 'stalled' } })
    expect(dead.modelCalls).toBe(2)
  })

  it('does not run while nothing but a person is waited for', async () => {
    const asked = new Bench([calls('clarify'), calls('read_file'), says('done')], { tools: [askPerson, readFile] })
    reading(asked)
    await asked.run()
    asked.now += 86_400_000
    answered(asked)
    expect((await asked.run()).stage).toMatchObject({ outcome: 'answered' })
    expect(asked.steps.some((step) => 'halted' in step)).toBe(false)
  })

  it('runs on beside a person who is waited for, and again when they have answered', async () => {
    const slow = { ...readFile, run: async () => ((asked.now += 40_000), { content: [], failed: false }) }
    const asked: Bench = new Bench([calls('clarify', 'read_file'), calls('read_file'), says('All I have.')], {
      tools: [askPerson, slow],
    })
    reading(asked)
    await asked.run()
    asked.now += 86_400_000
    answered(asked)
    expect((await asked.run()).stage).toMatchObject({ outcome: 'out-of-budget' })
    expect(asked.ran).toEqual(['clarify', 'read_file', 'read_file'])
  })

  it('is endless unless it is set', async () => {
    const bench = new Bench(
      (_t, _u, nth) => {
        bench.now += 10_000_000
        return nth < 5 ? calls('read_file') : says('Done.')
      },
      { tools: [readFile] },
    )
    expect((await bench.run()).stage).toMatchObject({ outcome: 'answered' })
  })
})

describe('a key that was revoked', () => {
  it('is left for the next one at once, and no model is left for it', async () => {
    const bench = after(fails('key-dead'))
    bench.chain = [2, 1]
    const turn = await bench.run()
    expect([did(turn), turn.route]).toEqual([['next key'], { model: 0, avoid: ['key-0-0'], attempt: 0 }])
  })
})

describe('a conflict', () => {
  it('is waited for twice, then another model is asked', async () => {
    const bench = new Bench((_t, turn) => (turn.route.model ? says('ok') : fails('conflict')))
    bench.chain = [1, 1]
    expect(did(await bench.run())).toEqual(['wait 2000 ms', 'wait 4000 ms', 'fall back to model-1'])
  })
})

describe('a request that is too large', () => {
  it('with a single message is not compressed: it is said at once how to go on', async () => {
    const bench = new Bench(() => fails('too-large'))
    expect(did(await bench.run())).toEqual([])
    expect(last(bench)).toContain('send it in smaller parts')
  })

  it('with a single message and images loses the images', async () => {
    const bench = new Bench((_t, turn) => (turn.repairs.images ? says('ok') : fails('too-large')))
    bench.images = true
    expect(did(await bench.run())).toEqual(['leave out images'])
  })

  it('with images that can be made smaller loses them only when that is not enough', async () => {
    const bench = new Bench((_t, turn) => (turn.repairs.images ? says('ok') : fails('too-large')))
    bench.images = true
    bench.shrinks = true
    const turn = await bench.run()
    expect(did(turn)).toEqual(['shrink images', 'leave out images'])
    expect(turn.repairs).toEqual({ imageSize: 'small', images: 'left-out' })
  })

  it('with more before it is compressed first', async () => {
    const bench = new Bench([calls('read_file'), fails('too-large'), says('ok')], { tools: [readFile] })
    expect(did(await bench.run())).toEqual(['compress'])
  })
})

describe('repairs', () => {
  it('ask for no more output than there is, without compressing', async () => {
    const bench = after({ ...fails('output-cap'), available: 1_000 })
    const turn = await bench.run()
    expect(turn.repairs.maxTokens).toBe(936)
    expect(bench.steps.every((step) => step.do !== 'compress')).toBe(true)
  })

  it('leave out images when there is nothing to compress', async () => {
    const bench = new Bench((_t, turn) => (turn.repairs.images ? says('ok') : fails('too-large')))
    bench.images = true
    bench.limits = { ...bench.limits, compression: { enabled: false, threshold: 0.75 } }
    expect((await bench.run()).repairs).toEqual({ images: 'left-out' })
    expect(last(bench)).toBe('ok')
  })

  it('leave out images from a request that is rejected, and only where there are any', async () => {
    const bench = after(fails('invalid'))
    bench.images = true
    const turn = await bench.run()
    expect(did(turn)).toEqual(['leave out images'])
    expect(turn.stage).toMatchObject({ outcome: 'answered' })
    const plain = after(fails('invalid'))
    expect((await plain.run()).stage).toMatchObject({ outcome: 'failed', failure: { kind: 'invalid' } })
    expect(plain.modelCalls).toBe(1)
  })

  it('make an image that is too large smaller, once', async () => {
    const bench = new Bench((_t, turn) => (turn.repairs.imageSize ? says('ok') : fails('image-too-large')))
    bench.images = true
    bench.shrinks = true
    expect(did(await bench.run())).toEqual(['shrink images'])
    const stubborn = new Bench(() => fails('image-too-large'))
    stubborn.images = true
    stubborn.shrinks = true
    expect(did(await stubborn.run())).toEqual(['shrink images', 'leave out images'])
  })

  it.each([
    ['grammar', { schemas: 'plain' }],
    ['thinking-signature', { thinking: 'left-out' }],
    ['tool-content', { toolContent: 'text' }],
    ['long-context-beta', { longContext: 'off' }],
  ] as const)('of %s run once', async (kind, repairs) => {
    const bench = new Bench(() => fails(kind))
    const turn = await bench.run()
    expect(turn.repairs).toEqual(repairs)
    expect(bench.modelCalls).toBe(2)
  })

  it.each(['tls', 'account-policy'] as const)('there are none for %s: it is said at once', async (kind) => {
    const bench = new Bench(() => fails(kind))
    bench.chain = [2, 2]
    await bench.run()
    expect(bench.modelCalls).toBe(1)
  })
})
