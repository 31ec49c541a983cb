import { describe, expect, it } from 'vitest'
import { enter } from '#agent/loop/enter.ts'
import { requestCompression } from '#agent/loop/turn-changes.ts'
import { settle } from '#agent/loop/settle.ts'
import type { CompressionState } from '#agent/core/compression.ts'
import type { FailureKind } from '#agent/core/failure.ts'
import { defaultLimits, type View } from '#agent/core/ports.ts'
import { newTurn, countUse, type Result, type Turn } from '#agent/core/turn.ts'
import { noUsage } from '#agent/core/usage.ts'
import {
  canCompressAfterOverflow,
  compressContext,
  getThresholdTokens,
  maxCompressions,
} from '#agent/policy/compress-context.ts'
import { calls, fails, LoopHarness, says } from '../support/scripted.ts'
import { readFile } from '../support/tools.ts'

const turn = newTurn('run', 0, 90)
const asked = requestCompression(turn, { focus: 'the tests' }).turn
const spent = Array.from({ length: maxCompressions }).reduce<Turn>((one) => countUse(one, 'compress'), turn)
const withState = (compression: CompressionState): Turn => ({ ...turn, compression })
const view = (more: Partial<View> = {}): View =>
  ({
    now: 5,
    contextTokens: 10,
    compressibleTokens: () => 50,
    contextWindow: 100,
    messageCount: 20,
    chain: [{ id: 'a/model', keys: [] }],
    limits: defaultLimits,
    inbox: [],
    toolbox: new Map(),
    ...more,
  }) as View
const off = { ...defaultLimits, compression: { enabled: false } }

describe('the threshold', () => {
  it.each([
    ['half of a large window', {}, 1_000_000, 500_000],
    ['half from 512,000 tokens on', {}, 512_000, 256_000],
    ['three quarters of a smaller window', {}, 511_999, 383_999.25],
    ['the share of the settings', { threshold: 0.6 }, 100_000, 60_000],
    ['a number of tokens', { thresholdTokens: 40_000 }, 1_000_000, 40_000],
    ['the share when it is reached earlier', { thresholdTokens: 400_000 }, 100_000, 75_000],
    ['that of the model', { threshold: 0.6, models: { 'a/model': { threshold: 0.2 } } }, 100_000, 20_000],
    ['the tokens of the model', { models: { 'a/model': { thresholdTokens: 9_000 } } }, 100_000, 9_000],
    ['that of all models when another one has its own', { models: { 'b/model': { threshold: 0.2 } } }, 100_000, 75_000],
  ])('is %s', (_name, limits, window, tokens) => {
    expect(getThresholdTokens({ enabled: true, ...limits }, window, 'a/model')).toBe(tokens)
  })
})

describe('the context', () => {
  it.each([
    ['is not compressed while it fits', turn, view({ contextTokens: 74 }), undefined],
    ['is compressed at the threshold', turn, view({ contextTokens: 75 }), 'compress'],
    ['is not compressed more often than the maximum', spent, view({ contextTokens: 76 }), undefined],
    ['is not compressed where the settings switch it off', turn, view({ contextTokens: 76, limits: off }), undefined],
    [
      'is not compressed when a tenth of it cannot be saved',
      turn,
      view({ contextTokens: 80, compressibleTokens: () => 7 }),
      undefined,
    ],
    ['is compressed when a person requests it', asked, view(), 'compress'],
    ['is compressed on request also where the settings switch it off', asked, view({ limits: off }), 'compress'],
    ['is compressed on request during a pause', { ...asked, compression: { pausedUntil: 9 } }, view(), 'compress'],
    ['is not compressed when there are too few messages', asked, view({ messageCount: 3 }), undefined],
    ['is not compressed during a pause', withState({ pausedUntil: 6 }), view({ contextTokens: 80 }), undefined],
    ['is compressed after a pause', withState({ pausedUntil: 5 }), view({ contextTokens: 80 }), 'compress'],
    [
      'is compressed earlier when the provider counts more tokens than the estimate',
      withState({ measured: { model: 'a/model', ratio: 1.25 } }),
      view({ contextTokens: 60 }),
      'compress',
    ],
    [
      'is estimated again for another model',
      withState({ measured: { model: 'b/model', ratio: 1.25 } }),
      view({ contextTokens: 60 }),
      undefined,
    ],
  ])('%s', (_name, given, seen, step) => {
    expect(compressContext(given, seen)?.do).toBe(step)
  })

  it('is compressed for the smaller window of a model that the turn falls back to', () => {
    expect(compressContext(turn, view({ contextTokens: 500, contextWindow: 1_000 }))).toBe(undefined)
    expect(compressContext(turn, view({ contextTokens: 500, contextWindow: 600 }))?.do).toBe('compress')
  })

  it('is compressed once per request, with the focus in the stage', () => {
    const { turn: entered } = enter(asked, { do: 'compress' }, view())
    expect(entered.stage).toEqual({ at: 'compressing', since: 5, focus: 'the tests' })
    expect(compressContext({ ...entered, stage: { at: 'ready' } }, view())).toBe(undefined)
  })
})

const compressing: Turn = { ...turn, stage: { at: 'compressing', since: 0 } }
const summary = (savedTokens: number, fallback?: FailureKind): Result => ({
  of: 'summary',
  summary: { text: 's', covers: 1, keeps: { head: [], requests: [] }, carried: [], effects: [] },
  savedTokens,
  ...(fallback && { fallback }),
  usage: noUsage,
})
const failure = (kind: FailureKind): Result => ({ of: 'failure', failure: { kind, message: '' } })
const settled = (results: readonly Result[], seen: View): Turn =>
  results.reduce<Turn>((now, result) => ({ ...settle(now, result, seen).turn, stage: compressing.stage }), compressing)

describe('CP2: compressions that save less than a tenth', () => {
  const full = view({ contextTokens: 80 })
  const poor = (results: readonly Result[]): Turn => ({ ...settled(results, full), stage: { at: 'ready' } })

  it('block further ones after two in a row', () => {
    expect(compressContext(poor([summary(7)]), full)?.do).toBe('compress')
    expect(compressContext(poor([summary(7), summary(7)]), full)).toBe(undefined)
    expect(compressContext(poor([summary(7), failure('too-long')]), full)).toBe(undefined)
  })

  it('are forgotten after one that saves more', () => {
    expect(compressContext(poor([summary(7), summary(40), summary(7)]), full)?.do).toBe('compress')
  })

  it.each([
    ['the context shrinks', { contextTokens: 72 }, undefined],
    ['the context is as long', { contextTokens: 73 }, 'blocked'],
    ['the context grows', { contextTokens: 95 }, 'blocked'],
    ['the model changes', { contextTokens: 95, chain: [{ id: 'b/model', keys: [] }] }, undefined],
  ])('block them until a change: %s', (_name, more, outcome) => {
    const seen = view({ ...more, contextWindow: 90 })
    const step = compressContext(poor([summary(7), summary(7)]), seen)
    expect(step?.do).toBe(outcome === 'blocked' ? undefined : 'compress')
  })

  it('do not block a compression after the provider has refused the context, nor one on request', () => {
    const blocked = poor([summary(7), summary(7)])
    expect(canCompressAfterOverflow(blocked, full)).toBe(true)
    expect(compressContext({ ...blocked, compress: {} }, full)?.do).toBe('compress')
  })
})

describe('CP3: a summary that fails', () => {
  it.each(['auth', 'key-dead', 'forbidden', 'unconfigured', 'network', 'tls'] as const)(
    'by %s leaves all messages, tells the user, and pauses compressions for 10 minutes',
    (kind) => {
      const commit = settle(compressing, failure(kind), view({ contextTokens: 80 }))
      expect(commit.summary).toBe(undefined)
      expect(commit.turn).toMatchObject({ stage: { at: 'ready' }, compression: { pausedUntil: 600_005 } })
      expect(commit.turn.notes).toMatchObject([{ did: 'warn', why: expect.stringContaining('nothing was removed') }])
      expect(compressContext(commit.turn, view({ contextTokens: 80 }))).toBe(undefined)
      // Without a compression the next turn would fail.
      expect(canCompressAfterOverflow({ ...commit.turn, used: {} }, view())).toBe(true)
    },
  )

  it('by a spent quota is replaced by an excerpt, and the user is told', () => {
    const commit = settle(compressing, summary(40, 'quota'), view({ contextTokens: 80 }))
    expect(commit.summary).toMatchObject({ text: 's' })
    expect(commit.turn.notes).toMatchObject([{ did: 'warn', why: expect.stringContaining('no credit or quota left') }])
    expect(commit.turn.compression).toBe(undefined)
  })
})

describe('in a turn', () => {
  it('the context is compressed before the first call', async () => {
    const harness = new LoopHarness([says('ok')])
    harness.contextTokens = 80
    await harness.run()
    expect(harness.steps.map((step) => step.do)).toEqual(['compress', 'call-model'])
  })

  it('a context that does not shrink is compressed twice, and then the model is asked', async () => {
    const harness = new LoopHarness([says('ok')])
    harness.savedTokens = 1
    const { perform } = harness
    harness.perform = async function* (step, given) {
      yield* perform(step, given)
      harness.contextTokens = 80
    }
    harness.contextTokens = 80
    await harness.run()
    expect(harness.steps.map((step) => step.do)).toEqual(['compress', 'compress', 'call-model'])
  })

  it('an overflow is answered by at most three compressions in a row', async () => {
    const harness = new LoopHarness(() => fails('too-long'))
    await harness.run()
    expect(harness.steps.filter((step) => step.do === 'compress')).toHaveLength(3)
    expect(harness.store.turn().stage).toMatchObject({ at: 'done', outcome: 'failed' })
  })

  it('a long turn is compressed as often as it needs', async () => {
    const harness = new LoopHarness((_transcript, _turn, nth) => (nth < 12 ? calls('read_file') : says('ok')), {
      tools: [readFile],
      limit: 50,
    })
    const { perform } = harness
    harness.perform = async function* (step, given) {
      yield* perform(step, given)
      if (step.do === 'run-tools') harness.contextTokens += 40
    }
    await harness.run()
    expect(harness.steps.filter((step) => step.do === 'compress').length).toBe(6)
    expect(harness.store.turn().stage).toMatchObject({ outcome: 'answered' })
  })

  it('what the provider counts is remembered with the model, unless it is implausible', () => {
    const reply = (promptTokens: number): Result => ({ of: 'model', reply: says('ok'), usage: noUsage, promptTokens })
    const calling: Turn = { ...turn, stage: { at: 'calling-model', since: 0, tools: true } }
    const measured = (tokens: number) => settle(calling, reply(tokens), view({ contextTokens: 100 })).turn.compression
    expect(measured(130)).toEqual({ measured: { model: 'a/model', ratio: 1.3 } })
    expect(measured(0)).toBe(undefined)
    expect(measured(5)).toBe(undefined)
  })
})
