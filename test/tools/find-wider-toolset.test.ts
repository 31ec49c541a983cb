import { describe, expect, it } from 'vitest'
import { findWiderToolset } from '#tools/find-wider-toolset.ts'

type Policy = Parameters<typeof findWiderToolset>[1]

describe('the toolsets of a request', () => {
  it.each<[string, readonly string[], Policy]>([
    ['the preset of the session', ['file', 'todo'], {}],
    ['some of the enabled tools', ['read_file'], { enabled: ['file'] }],
    ['a toolset that contains them', ['debugging'], { enabled: ['coding'] }],
    ['what a webhook may use', ['web'], { source: 'webhook' }],
    ['a tool of a server, which only the session knows', ['mcp__git__log'], {}],
    ['what every bound has', ['read_file'], { bounds: [['file'], ['read_file', 'todo']] }],
  ])('may be %s', (_name, requested, policy) => {
    expect(findWiderToolset(requested, policy)).toBe(undefined)
  })

  it.each<[string, readonly string[], string, Policy]>([
    ['one outside the preset', ['todo', 'video_gen'], 'video_gen', {}],
    ['one that is not enabled', ['file', 'terminal'], 'terminal', { enabled: ['file'] }],
    ['one with a disabled tool', ['file'], 'file', { disabled: ['patch'] }],
    ['all of them', ['all'], 'all', { enabled: ['file'] }],
    ['what a webhook may never use', ['terminal'], 'terminal', { source: 'webhook', enabled: ['all'] }],
    ['what a job may never use', ['clarify'], 'clarify', { source: 'job', enabled: ['all'] }],
    ['a disabled tool of a server', ['mcp__git__log'], 'mcp__git__log', { disabled: ['mcp__git__log'] }],
    ['one that a bound lacks', ['file'], 'file', { bounds: [['file'], ['read_file']] }],
  ])('may not be %s', (_name, requested, wider, policy) => {
    expect(findWiderToolset(requested, policy)).toBe(wider)
  })
})
