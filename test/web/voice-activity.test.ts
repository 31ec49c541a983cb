/** Tests when an utterance begins and ends, by levels of a microphone. */

import { describe, expect, it } from 'vitest'
import { type Activity, addLevel, hasEnded, isInterrupting, noActivity } from '../../web/model/voice-activity.ts'

const everyMs = 50
/** Levels with how long each lasts. */
const hear = (sounds: readonly (readonly [level: number, ms: number])[]): Activity =>
  sounds.reduce(
    (before, [level, ms]) =>
      Array.from({ length: ms / everyMs }).reduce<Activity>((one) => addLevel(one, level, everyMs), before),
    noActivity,
  )
const [quiet, speech, fan] = [0.002, 0.1, 0.03]

describe('an utterance', () => {
  it.each([
    ['silence', [[quiet, 9_000]], false],
    ['speech that goes on', [[speech, 2_000]], false],
    [
      'speech and a short pause',
      [
        [speech, 1_000],
        [quiet, 600],
      ],
      false,
    ],
    [
      'speech and silence',
      [
        [speech, 1_000],
        [quiet, 1_300],
      ],
      true,
    ],
    [
      'two sentences',
      [
        [speech, 1_000],
        [quiet, 900],
        [speech, 500],
        [quiet, 1_300],
      ],
      true,
    ],
    [
      'a click',
      [
        [speech, 100],
        [quiet, 2_000],
      ],
      false,
    ],
    ['a fan', [[fan, 20_000]], false],
  ] as const)('of %s has ended: %s', (_, sounds, ends) => expect(hasEnded(hear(sounds))).toBe(ends))

  it.each([
    [
      'a cough',
      [
        [speech, 300],
        [quiet, 400],
      ],
      false,
    ],
    ['a word', [[speech, 600]], true],
    [
      'a word with a gap',
      [
        [speech, 300],
        [quiet, 200],
        [speech, 250],
      ],
      true,
    ],
    [
      'an old word',
      [
        [speech, 900],
        [quiet, 400],
      ],
      false,
    ],
  ] as const)('%s interrupts: %s', (_, sounds, interrupts) => expect(isInterrupting(hear(sounds))).toBe(interrupts))
})
