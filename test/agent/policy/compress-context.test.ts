import { describe, expect, it } from 'vitest'
import { enter } from '../../../src/agent/loop/enter.ts'
import { requestCompression } from '../../../src/agent/loop/intake.ts'
import { defaultLimits, type View } from '../../../src/agent/model/ports.ts'
import { newTurn, countUse, type Turn } from '../../../src/agent/model/turn.ts'
import { maxCompressions, compressContext } from '../../../src/agent/policy/compress-context.ts'
import { renderSummaryRequest } from '../../../src/agent/prompt/compression.ts'

const turn = newTurn('run', 0, 90)
const asked = requestCompression(turn, { focus: 'the tests' }).turn
const spent = Array.from({ length: maxCompressions }).reduce<Turn>((one) => countUse(one, 'compress'), turn)
const view = (more: object = {}): View =>
  ({ now: 5, contextTokens: 10, contextWindow: 100, messageCount: 20, limits: defaultLimits, ...more }) as View
const off = { ...defaultLimits, compression: { enabled: false, threshold: 0.75 } }

describe('the context', () => {
  it.each([
    ['that fits is left alone', turn, view(), undefined],
    ['that is nearly full is shortened', turn, view({ contextTokens: 76 }), 'compress'],
    ['that stays full is not shortened for ever', spent, view({ contextTokens: 76 }), undefined],
    ['that is nearly full is left alone where that is set', turn, view({ contextTokens: 76, limits: off }), undefined],
    ['is shortened when a person asks for it', asked, view(), 'compress'],
    ['is so whatever is set', asked, view({ limits: off }), 'compress'],
    ['is not when there is nothing to shorten', asked, view({ messages: 3 }), undefined],
  ])('%s', (_name, given, seen, step) => {
    expect(compressContext(given, seen)?.do).toBe(step)
  })

  it('is compressed once per request, with the focus in the prompt', () => {
    const { turn: entered } = enter(asked, { do: 'compress' }, view())
    expect(entered.stage).toEqual({ at: 'compressing', since: 5, focus: 'the tests' })
    expect(compressContext({ ...entered, stage: { at: 'ready' } }, view())).toBe(undefined)
    expect(renderSummaryRequest('the tests')).toContain('the tests')
    expect(renderSummaryRequest(undefined)).not.toContain('undefined')
  })
})
