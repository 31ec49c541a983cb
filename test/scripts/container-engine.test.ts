/** Tests the check for a container engine. */

import { describe, expect, it } from 'vitest'
import { hasEngine, howToGetOne } from '../../scripts/lib/container-engine.mjs'

describe('an engine for containers', () => {
  it('is there when its client says so', () => expect(hasEngine('true')).toBe(true))
  it('is not there when its client fails', () => expect(hasEngine('false')).toBe(false))
  it('is not there without a client', () => expect(hasEngine('/no/such/client')).toBe(false))
  it('is told about where it is missing', () => expect(howToGetOne).toMatch(/unavailable[\s\S]*Install Docker/))
})
