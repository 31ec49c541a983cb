import * as z from 'zod'
import { describe, expect, it } from 'vitest'
import type { ServiceName } from '../../src/agent/model/tool.ts'
import { defineTool } from '../../src/tools/define.ts'
import { tools } from '../../src/tools/index.ts'
import { expand, selectTools } from '../../src/tools/toolsets.ts'

const everything = new Set<ServiceName>([
  'backend',
  'documents',
  'history',
  'todos',
  'shell',
  'processes',
  'programs',
  'person',
])
const fake = (name: string, toolset: string) =>
  defineTool({ name, toolset, description: name, input: z.object({}), effect: 'pure', run: async () => ({}) })
const all = [...tools, fake('web_search', 'web'), fake('kanban_show', 'kanban'), fake('mcp__git__log', 'mcp-git')]
const names = (enabled: string[] | undefined, disabled: string[] = [], services = everything) =>
  [...selectTools(all, { enabled, disabled, services }).toolbox.keys()].toSorted()

const FILE = ['patch', 'read_file', 'search_files', 'write_file']

describe('toolsets', () => {
  it.each([
    [['file'], [], FILE],
    [['debugging'], [], [...FILE, 'process', 'terminal', 'web_search'].toSorted()],
    [['safe'], [], ['web_search']],
    [['talaria-webhook'], [], ['clarify', 'web_search']],
    [['hermes-webhook'], [], ['clarify', 'web_search']],
    [['file', 'terminal'], ['file'], ['process', 'terminal']],
    [['file'], ['patch'], ['read_file', 'search_files', 'write_file']],
    [['mcp-git'], [], ['mcp__git__log']],
    [['read_file'], [], ['read_file']],
    [['kanban'], [], ['kanban_show']],
    [['all'], ['all'], []],
    [[], [], []],
  ])('%j without %j are %j', (enabled, disabled, expected) => {
    expect(names(enabled, disabled)).toEqual(expected)
  })

  it('are the whole core when nothing is said', () => {
    expect(names(undefined)).toEqual(names(['talaria-cli']))
    expect(names(undefined)).toEqual([...tools.map(({ name }) => name), 'web_search'].toSorted())
  })

  it('leave out what needs a service that is not there', () => {
    expect(names(['coding'], [], new Set(['todos']))).toEqual(['todo', 'web_search'])
  })

  it('differ where nobody can answer', () => {
    expect(names(['talaria-cron'])).not.toContain('clarify')
    expect(names(['talaria-api-server'])).not.toContain('clarify')
    expect(names(['talaria-telegram'])).toContain('clarify')
  })

  it('by wildcard are all but those that are only given by name', () => {
    expect(names(['*'])).toContain('mcp__git__log')
    expect(names(['*'])).not.toContain('kanban_show')
  })

  it('report names nobody knows', () => {
    const { unknown } = selectTools(all, { enabled: ['file', 'fyle'], disabled: ['nope'], services: everything })
    expect(unknown).toEqual(['fyle', 'nope'])
    expect(names(['constructor'])).toEqual([])
  })

  it('that include each other end', () => {
    const into = { found: new Set<string>(), unknown: new Set<string>(), seen: new Set<string>() }
    expand([], 'a', into, { a: { includes: ['b'], tools: ['x'] }, b: { includes: ['a'], tools: ['y'] } })
    expect([...into.found]).toEqual(['x', 'y'])
  })
})
