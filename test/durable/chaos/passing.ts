/** Records which failpoints were passed, and runs code of a test at a failpoint synchronously. */

import { afterEach, beforeEach, vi } from 'vitest'
import { armFailpoints, type FailpointName } from '#durable/platform/failpoint.ts'
import { until } from '../../support/scripted-model.ts'
import { inObject } from '../support/object.ts'

let passed: string[] = []
let atOnce: () => void = () => {}

/** For a file of tests: each begins with nothing armed. */
export function watchFailpoints(): void {
  beforeEach(() => {
    passed = []
    const print = console.log
    vi.spyOn(console, 'log').mockImplementation((...words: unknown[]) => {
      if (!String(words[0]).startsWith('FP:')) return print(...words)
      passed.push(String(words[0]).slice(3))
      atOnce()
    })
  })
  afterEach(() => {
    disarm()
    vi.restoreAllMocks()
  })
}

export const hangAt = (name: FailpointName, nth = 1) => armFailpoints(`${name}=hang@${nth}`)
export const cameTo = (name: FailpointName) => until(() => passed.includes(name))
export const passages = (): readonly string[] => passed
export const forgetPassages = (): void => void (passed = [])

export function disarm(): void {
  atOnce = () => {}
  armFailpoints('')
}

/** The object dies where it passes this, with all that is not written yet. */
export async function dieAt(id: string, name: FailpointName, nth = 1): Promise<void> {
  const state = await inObject(id, (_object, own) => own)
  atOnce = () => state.abort('died in the middle of a stretch')
  hangAt(name, nth)
}
