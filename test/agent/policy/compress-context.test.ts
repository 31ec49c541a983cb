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
    ['is not compressed while it fits', turn, view(), undefined],
    ['is compressed when it is nearly full', turn, view({ contextTokens: 76 }), 'compress'],
    ['is not compressed more often than the maximum', spent, view({ contextTokens: 76 }), undefined],
    ['is not compressed where the settings switch it off', turn, view({ contextTokens: 76, limits: off }), undefined],
    ['is compressed when a person requests it', asked, view(), 'compress'],
    ['is compressed on request also where the settings switch it off', asked, view({ limits: off }), 'compress'],
    ['is not compressed when there are too few messages', asked, view({ messageCount: 3 }), undefined],
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
