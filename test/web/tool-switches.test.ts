/** Tests what the switches of tools change in the settings. */

import { describe, expect, it } from 'vitest'
import { stateOf, switchOff, switchOn } from '../../web/model/tool-switches.ts'

const tool = (isLeftOut: boolean) => ({ name: 'web_search', toolset: 'web', available: !isLeftOut, isLeftOut })
const web = { name: 'web', toolset: 'web', members: ['web_search', 'web_extract'] }
const search = { ...web, name: 'web_search' }

describe('the state of a tool', () => {
  it.each([
    [false, {}, 'on'],
    [true, {}, 'off-by-default'],
    [true, { disabled: ['web'] }, 'off'],
    [true, { disabled: ['web_search'] }, 'off'],
    [true, { enabled: ['file'] }, 'off'],
    [true, { disabled: ['file'] }, 'off-by-default'],
  ])('left out %s with %j is %s', (isLeftOut, settings, state) =>
    expect(stateOf(tool(isLeftOut), settings)).toBe(state),
  )
})

describe('a switch', () => {
  it('leaves out one name, once', () => {
    expect(switchOff('web', {})).toEqual({ toolsets: { disabled: ['web'] } })
    expect(switchOff('web', { disabled: ['web', 'file'] })).toEqual({ toolsets: { disabled: ['file', 'web'] } })
  })

  it.each([
    ['a toolset', web, { disabled: ['web'] }, { disabled: null }],
    ['a toolset whose tools are left out', web, { disabled: ['web_search', 'file'] }, { disabled: ['file'] }],
    ['a tool', search, { disabled: ['web_search'] }, { disabled: null }],
    ['a tool of a toolset that is off', search, { disabled: ['web'] }, { disabled: ['web_extract'] }],
    ['a tool that no list names', search, { enabled: ['file'] }, { disabled: null, enabled: ['file', 'web_search'] }],
    ['a tool whose toolset a list names', search, { enabled: ['web'], disabled: ['web_search'] }, { disabled: null }],
  ])('offers %s', (_, named, settings, toolsets) => expect(switchOn(named, settings)).toEqual({ toolsets }))
})
