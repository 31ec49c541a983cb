/** Tests the check for a container engine. */

import { describe, expect, it } from 'vitest'
import { hasEngine, howToGetOne } from '../../scripts/lib/container-engine.mjs'

describe('an engine for containers', () => {
  it('exists when its client succeeds', () => expect(hasEngine('true')).toBe(true))
  it('is not there when its client fails', () => expect(hasEngine('false')).toBe(false))
  it('is not there without a client', () => expect(hasEngine('/no/such/client')).toBe(false))
  it('is explained when it is missing', () => expect(howToGetOne).toMatch(/unavailable[\s\S]*Install Docker/))
})
