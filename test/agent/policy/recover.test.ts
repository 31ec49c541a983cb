import { describe, expect, it } from 'vitest'
import { settlePendingCall } from '#agent/loop/turn-changes.ts'
import { type Message, textIn } from '#agent/core/message.ts'
import type { Turn } from '#agent/core/turn.ts'
import { LoopHarness, calls, fails, says } from '../support/scripted.ts'
import { askPerson, readFile } from '../support/tools.ts'

const last = (harness: LoopHarness) => textIn(harness.store.transcript().at(-1) as Message)
/** Fails with these, one after the other, then answers. */
const after = (...failures: readonly ReturnType<typeof fails>[]) =>
  new LoopHarness((_t, _u, n) => failures[n] ?? says('ok'))
const did = (turn: Turn) => turn.notes.map((note) => note.did)

describe('waiting', () => {
  it.each([
    ['as long as told', 30_000, 30_000],
    ['no longer than ten minutes', 3_000_000, 600_000],
  ])('%s', async (_name, told, waited) => {
    const harness = after(fails('rate', told))
    harness.chain = [1]
    const turn = await harness.run()
    expect(turn.waited).toBe(waited)
    expect(harness.now).toBe(1_000 + waited)
  })

  it('grows with every attempt on one model, and ends after three', async () => {
    const harness = new LoopHarness(() => fails('server'))
    const turn = await harness.run()
    expect(did(turn)).toEqual(['wait 2000 ms', 'wait 4000 ms', 'wait 8000 ms'])
    expect(harness.modelCalls).toBe(4)
  })

  it.each([
    ['server', ['2 of 4', '3 of 4', '4 of 4']],
    ['rate', ['2 of 4', '3 of 4', '4 of 4']],
    ['overloaded', ['2 of 4', '3 of 4', '4 of 4']],
    ['conflict', ['2 of 3', '3 of 3']],
  ] as const)('says which call of how many follows: %s', async (kind, announced) => {
    const harness = new LoopHarness(() => fails(kind))
    harness.chain = [1]
    await harness.run()
    expect(harness.store.announcedCalls).toEqual(announced)
    expect(harness.modelCalls).toBe(announced.length + 1)
  })

  it('has a random jitter of up to a half', async () => {
    const harness = after(fails('server'), fails('server'))
    harness.random = 0.5
    expect(did(await harness.run())).toEqual(['wait 2500 ms', 'wait 5000 ms'])
  })

  it('starts long and grows for a provider with long overloads', async () => {
    const harness = new LoopHarness(() => fails('overloaded'))
    harness.overloadMs = 30_000
    expect(did(await harness.run())).toEqual(['wait 30000 ms', 'wait 60000 ms', 'wait 90000 ms'])
    const told = after(fails('overloaded', 5_000), fails('server'))
    told.overloadMs = 30_000
    expect(did(await told.run())).toEqual(['wait 5000 ms', 'wait 4000 ms'])
  })

  it('beyond the longest pause of a client ends the turn, which says when to try again', async () => {
    const harness = new LoopHarness(() => fails('rate', 31_000), { turn: { maxPauseMs: 30_000 } })
    const turn = await harness.run()
    expect([turn.waited, harness.modelCalls]).toEqual([0, 1])
    expect(turn.stage).toMatchObject({ outcome: 'failed', failure: { kind: 'rate', retryAfterMs: 31_000 } })
    const overloaded = new LoopHarness(() => fails('overloaded'), { turn: { maxPauseMs: 30_000 } })
    overloaded.overloadMs = 60_000
    expect((await overloaded.run()).stage).toMatchObject({ failure: { kind: 'overloaded', retryAfterMs: 60_000 } })
  })

  it('of a client that waits shorter is as usual', async () => {
    const harness = new LoopHarness((_t, _u, n) => (n ? says('ok') : fails('rate', 30_000)), {
      turn: { maxPauseMs: 30_000 },
    })
    expect((await harness.run()).waited).toBe(30_000)
  })

  it('has a maximum for the whole turn', async () => {
    const harness = new LoopHarness(() => fails('rate', 400_000))
    harness.limits = { ...harness.limits, maxWaitMs: 500_000 }
    const turn = await harness.run()
    expect(turn.waited).toBe(400_000)
    expect(turn.stage).toMatchObject({ outcome: 'failed' })
  })
})

describe('a rate limit', () => {
  it('is retried once with the same key, then with the next', async () => {
    const harness = after(fails('rate'), fails('rate'))
    harness.chain = [2]
    const turn = await harness.run()
    expect(did(turn)).toEqual(['wait 2000 ms', 'next key'])
    expect(turn.route.avoid).toEqual(['key-0-0'])
  })

  it('tries all ten keys', async () => {
    const harness = new LoopHarness((_t, turn) => (turn.route.avoid.length < 9 ? fails('rate') : says('the tenth')))
    harness.chain = [10]
    const turn = await harness.run()
    expect(last(harness)).toBe('the tenth')
    expect(did(turn)).toEqual(Array.from({ length: 9 }, () => ['wait 2000 ms', 'next key']).flat())
  })

  it("of an aggregator's upstream does not change the key", async () => {
    const harness = after(fails('upstream-rate'))
    harness.chain = [2, 1]
    const turn = await harness.run()
    expect(turn.route).toMatchObject({ model: 1, avoid: [], attempt: 0 })
  })
})

describe('fallback', () => {
  it('skips models without a usable key', async () => {
    const harness = after(fails('missing-model'))
    harness.chain = [1, 0, 1]
    expect((await harness.run()).route.model).toBe(2)
  })

  it('starts with the first usable model', async () => {
    const harness = after()
    harness.chain = [0, 1]
    expect((await harness.run()).route.model).toBe(1)
  })

  it('follows two attempts at an overloaded provider, and an idle timeout at once', async () => {
    const busy = after(fails('overloaded'), fails('overloaded'), fails('overloaded'))
    busy.chain = [3, 1]
    expect(did(await busy.run())).toEqual(['wait 2000 ms', 'wait 4000 ms', 'fall back to model-1'])
    const silent = new LoopHarness((_t, turn) => (turn.route.model ? says('ok') : fails('stalled')))
    silent.chain = [1, 1]
    expect(did(await silent.run())).toEqual(['reconnect', 'reconnect', 'fall back to model-1'])
  })

  it('is used once after a refusal, and no third model is asked', async () => {
    const harness = new LoopHarness(() => fails('refused'))
    harness.chain = [1, 1, 1]
    await harness.run()
    expect(harness.modelCalls).toBe(2)
    expect(last(harness)).toContain('declined')
  })
})

describe('a model that runs into the idle timeout', () => {
  it('is not asked again after five timeouts in a row, over all turns', async () => {
    const mute = new LoopHarness((_t, turn) => (turn.route.model ? says('ok') : fails('stalled')))
    mute.chain = [1, 1]
    mute.stalls = 5
    expect(did(await mute.run())).toEqual(['fall back to model-1'])
    const alone = new LoopHarness(() => fails('stalled'))
    alone.stalls = 5
    expect(did(await alone.run())).toEqual([])
    expect(last(alone)).toContain('sending nothing')
  })
})

describe('the time limit of a turn', () => {
  const reading = (harness: LoopHarness) => {
    harness.limits = { ...harness.limits, maxTurnMs: 60_000 }
    return harness
  }

  const answered = (harness: LoopHarness) => {
    const content = [{ type: 'text', text: 'the blue one' }] as const
    const answer = { role: 'tool', callId: 'clarify-0', name: 'clarify', content, failed: false } as const
    harness.store.save(settlePendingCall(harness.store.turn(), answer, harness.view()))
  }

  it('switches the tools off, and the model gives its answer', async () => {
    const harness = reading(
      new LoopHarness(
        (_t, turn) => {
          harness.now += 25_000
          return turn.guard.halted ? says('All I have.') : calls('read_file')
        },
        { tools: [readFile], limit: 50 },
      ),
    )
    expect((await harness.run()).stage).toMatchObject({ outcome: 'out-of-budget' })
    expect(harness.modelCalls).toBe(4)
    expect(harness.steps.at(-1)).toMatchObject({ tools: false, instruction: expect.stringContaining('60 seconds') })
    expect(last(harness)).toBe('All I have.')
  })

  it('rules out pauses that go beyond it', async () => {
    const harness = reading(new LoopHarness(() => fails('rate', 50_000)))
    const turn = await harness.run()
    expect(did(turn)).toEqual(['wait 50000 ms'])
    expect(turn.stage).toMatchObject({ outcome: 'failed', failure: { kind: 'rate' } })
  })

  it('cuts off a running answer, and a final answer is requested once', async () => {
    const harness = reading(
      new LoopHarness((_t, turn) => {
        harness.now += 70_000
        return turn.guard.halted ? says('All I have.') : fails('stalled')
      }),
    )
    expect((await harness.run()).stage).toMatchObject({ outcome: 'out-of-budget' })
    expect(harness.steps.map((step) => step.do === 'call-model' && step.tools)).toEqual([true, false])
    const dead = reading(
      new LoopHarness(() => {
        dead.now += 70_000
        return fails('stalled')
      }),
    )
    expect((await dead.run()).stage).toMatchObject({ outcome: 'failed', failure: { kind: 'stalled' } })
    expect(dead.modelCalls).toBe(2)
  })

  it('does not count time in which the turn waits only for a person', async () => {
    const asked = new LoopHarness([calls('clarify'), calls('read_file'), says('done')], {
      tools: [askPerson, readFile],
    })
    reading(asked)
    await asked.run()
    asked.now += 86_400_000
    answered(asked)
    expect((await asked.run()).stage).toMatchObject({ outcome: 'answered' })
    expect(asked.steps.some((step) => 'halted' in step)).toBe(false)
  })

  it('counts time beside a pending request to a person, and after the answer', async () => {
    const slow = { ...readFile, run: async () => ((asked.now += 40_000), { content: [], failed: false }) }
    const asked: LoopHarness = new LoopHarness(
      [calls('clarify', 'read_file'), calls('read_file'), says('All I have.')],
      {
        tools: [askPerson, slow],
      },
    )
    reading(asked)
    await asked.run()
    asked.now += 86_400_000
    answered(asked)
    expect((await asked.run()).stage).toMatchObject({ outcome: 'out-of-budget' })
    expect(asked.ran).toEqual(['clarify', 'read_file', 'read_file'])
  })

  it('is off by default', async () => {
    const harness = new LoopHarness(
      (_t, _u, nth) => {
        harness.now += 10_000_000
        return nth < 5 ? calls('read_file') : says('Done.')
      },
      { tools: [readFile] },
    )
    expect((await harness.run()).stage).toMatchObject({ outcome: 'answered' })
  })
})

describe('a key that was revoked', () => {
  it('is replaced by the next key at once, without a fallback', async () => {
    const harness = after(fails('key-dead'))
    harness.chain = [2, 1]
    const turn = await harness.run()
    expect([did(turn), turn.route]).toEqual([['next key'], { model: 0, avoid: ['key-0-0'], attempt: 0 }])
  })
})

describe('a conflict', () => {
  it('is retried twice, then another model is asked', async () => {
    const harness = new LoopHarness((_t, turn) => (turn.route.model ? says('ok') : fails('conflict')))
    harness.chain = [1, 1]
    expect(did(await harness.run())).toEqual(['wait 2000 ms', 'wait 4000 ms', 'fall back to model-1'])
  })
})

describe('a request that is too large', () => {
  it('with a single message is not compressed, and the turn explains what to do', async () => {
    const harness = new LoopHarness(() => fails('too-large'))
    expect(did(await harness.run())).toEqual([])
    expect(last(harness)).toContain('send it in smaller parts')
  })

  it('with a single message and images loses the images', async () => {
    const harness = new LoopHarness((_t, turn) => (turn.repairs.images ? says('ok') : fails('too-large')))
    harness.images = true
    expect(did(await harness.run())).toEqual(['leave out images'])
  })

  it('with images that can be made smaller loses them only when that is not enough', async () => {
    const harness = new LoopHarness((_t, turn) => (turn.repairs.images ? says('ok') : fails('too-large')))
    harness.images = true
    harness.shrinks = true
    const turn = await harness.run()
    expect(did(turn)).toEqual(['shrink images', 'leave out images'])
    expect(turn.repairs).toEqual({ imageSize: 'small', images: 'left-out' })
  })

  it.each(['too-large', 'too-long', 'invalid', 'no-images'] as const)(
    'sends PDF files as text first: %s',
    async (kind) => {
      const harness = new LoopHarness((_t, turn) => (turn.repairs.pdfs ? says('ok') : fails(kind)))
      harness.pdfs = true
      const turn = await harness.run()
      expect([did(turn), turn.repairs]).toEqual([['pdf files as text'], { pdfs: 'text' }])
    },
  )

  it('with earlier messages is compressed first', async () => {
    const harness = new LoopHarness([calls('read_file'), fails('too-large'), says('ok')], { tools: [readFile] })
    expect(did(await harness.run())).toEqual(['compress'])
  })
})

describe('repairs', () => {
  it('lower the requested output without compression', async () => {
    const harness = after({ ...fails('output-cap'), available: 1_000 })
    const turn = await harness.run()
    expect(turn.repairs.maxTokens).toBe(936)
    expect(harness.steps.every((step) => step.do !== 'compress')).toBe(true)
  })

  it('leave out images when there is nothing to compress', async () => {
    const harness = new LoopHarness((_t, turn) => (turn.repairs.images ? says('ok') : fails('too-large')))
    harness.images = true
    harness.limits = { ...harness.limits, compression: { enabled: false, threshold: 0.75 } }
    expect((await harness.run()).repairs).toEqual({ images: 'left-out' })
    expect(last(harness)).toBe('ok')
  })

  it('leave out images from a request that is rejected, and only where there are any', async () => {
    const harness = after(fails('invalid'))
    harness.images = true
    const turn = await harness.run()
    expect(did(turn)).toEqual(['leave out images'])
    expect(turn.stage).toMatchObject({ outcome: 'answered' })
    const plain = after(fails('invalid'))
    expect((await plain.run()).stage).toMatchObject({ outcome: 'failed', failure: { kind: 'invalid' } })
    expect(plain.modelCalls).toBe(1)
  })

  it('make an image that is too large smaller, once', async () => {
    const harness = new LoopHarness((_t, turn) => (turn.repairs.imageSize ? says('ok') : fails('image-too-large')))
    harness.images = true
    harness.shrinks = true
    expect(did(await harness.run())).toEqual(['shrink images'])
    const stubborn = new LoopHarness(() => fails('image-too-large'))
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
    const harness = new LoopHarness(() => fails(kind))
    const turn = await harness.run()
    expect(turn.repairs).toEqual(repairs)
    expect(harness.modelCalls).toBe(2)
  })

  it.each(['tls', 'account-policy'] as const)('%s has no remedy and is explained at once', async (kind) => {
    const harness = new LoopHarness(() => fails(kind))
    harness.chain = [2, 2]
    await harness.run()
    expect(harness.modelCalls).toBe(1)
  })
})
