import * as z from 'zod'
import { describe, expect, it } from 'vitest'
import type { ServiceName } from '#agent/core/tool.ts'
import { defineTool } from '#tools/define-tool.ts'
import { tools } from '#tools/index.ts'
import { isToolsetOrTool } from '#tools/tool-names.ts'
import { listToolsetMembers, toolsFor, type ToolSources } from '#tools/tools-for.ts'
import { toolsets } from '#tools/toolsets.ts'

const allServices = new Set<ServiceName>([
  'backend',
  'documents',
  'history',
  'todos',
  'shell',
  'processes',
  'programs',
  'person',
  'skills',
  'memory',
  'subagents',
  'jobs',
])
const fakeTool = (name: string, toolset: string) =>
  defineTool({
    name,
    toolset,
    description: `${name} of ${toolset}`,
    input: z.object({}),
    effect: 'pure',
    run: async () => ({}),
  })
/** Those that every deployment has. */
const core = tools.filter(({ needs }) => needs.every((need) => allServices.has(need)))
const builtIn = [...core, fakeTool('web_search', 'web')]
const gitLog = fakeTool('mcp__git__log', 'mcp-git')

const choose = (choice: Partial<ToolSources>) =>
  toolsFor({ builtIn, tenantTools: [gitLog], services: allServices, ...choice })
const namesFor = (choice: Partial<ToolSources>) => [...choose(choice).toolbox.keys()]
const sortedNamesFor = (choice: Partial<ToolSources>) => namesFor(choice).toSorted()

const fileTools = ['patch', 'read_file', 'search_files', 'write_file']

describe('the source of a session', () => {
  it.each([
    ['telegram', undefined, ['clarify', 'terminal'], []],
    ['api', undefined, ['clarify', 'terminal'], []],
    ['an unknown source', undefined, ['clarify', 'terminal'], []],
    ['cron', undefined, ['terminal'], ['clarify', 'cronjob']],
    ['job', ['all'], ['terminal'], ['clarify', 'cronjob']],
    ['webhook', undefined, ['web_search', 'clarify'], ['terminal', 'read_file', 'execute_code']],
    ['webhook', ['all', 'terminal'], ['web_search'], ['terminal', 'read_file', 'execute_code']],
    ['webhook', ['web'], ['web_search'], ['clarify']],
  ])('%s with the setting %j chooses its tools', (source, enabled, has, hasNot) => {
    const names = namesFor({ source, enabled })
    expect(names).toEqual(expect.arrayContaining(has))
    for (const name of hasNot) expect(names).not.toContain(name)
  })
})

it('has only tools that are in every bound', () => {
  expect(
    sortedNamesFor({
      bounds: [
        ['file', 'todo'],
        ['read_file', 'todo', 'terminal'],
      ],
    }),
  ).toEqual(['read_file', 'todo'])
  expect(sortedNamesFor({ enabled: ['file'], bounds: [['terminal']] })).toEqual([])
  expect(namesFor({ bounds: [['tenant']] })).toEqual(['mcp__git__log'])
})

describe('toolsets', () => {
  it.each([
    [['file'], [], fileTools],
    [['debugging'], [], [...fileTools, 'process', 'terminal', 'web_search'].toSorted()],
    [['safe'], [], ['web_search']],
    [['talaria-webhook'], [], ['clarify', 'web_search']],
    [['hermes-webhook'], [], ['clarify', 'web_search']],
    [['file', 'terminal'], ['file'], ['process', 'terminal']],
    [['file'], ['patch'], ['read_file', 'search_files', 'write_file']],
    [['mcp-git'], [], ['mcp__git__log']],
    [['tenant'], [], ['mcp__git__log']],
    [['read_file'], [], ['read_file']],
    [['all'], ['all'], []],
    [[], [], []],
  ])('%j without %j are %j', (enabled, disabled, expected) => {
    expect(sortedNamesFor({ enabled, disabled })).toEqual(expected)
  })

  it('default to the whole core', () => {
    expect(namesFor({})).toEqual(namesFor({ enabled: ['talaria-cli'] }))
    expect(namesFor({})).toEqual([...core.map(({ name }) => name), 'web_search', 'mcp__git__log'])
  })

  it('exclude clarify from sources without a person', () => {
    expect(namesFor({ enabled: ['talaria-cron'] })).not.toContain('clarify')
    expect(namesFor({ enabled: ['talaria-telegram'] })).toContain('clarify')
  })

  it('stand for all tools with a wildcard', () => {
    expect(namesFor({ enabled: ['*'] })).toContain('mcp__git__log')
    expect(sortedNamesFor({ enabled: ['*'] })).toEqual(sortedNamesFor({ enabled: ['all'] }))
  })

  it('give stored names of former presets the same tools, where there were the same', () => {
    expect(namesFor({ enabled: ['talaria-gateway'] })).toEqual(namesFor({ enabled: ['talaria-cli'] }))
    expect(namesFor({ enabled: ['hermes-signal'] })).toEqual(namesFor({ enabled: ['talaria-cli'] }))
    expect(choose({ enabled: ['talaria-acp'] }).unknown).toEqual(['talaria-acp'])
  })

  it.each(['x_search', 'moa', 'kanban', 'a2a', 'talaria-gateway', 'talaria-acp', 'hermes-bluebubbles'])(
    'accept no %s, which has no tool or no source',
    (name) => {
      expect(isToolsetOrTool(name)).toBe(false)
    },
  )

  it('accept every toolset that is listed, and each has a tool', () => {
    for (const name of Object.keys(toolsets)) {
      expect(isToolsetOrTool(name), name).toBe(true)
      expect(listToolsetMembers(tools, name), name).not.toEqual([])
    }
  })

  it('report unknown names', () => {
    expect(choose({ enabled: ['file', 'fyle'], disabled: ['nope'] }).unknown).toEqual(['fyle', 'nope'])
    expect(choose({ enabled: ['tenant', 'browser'], tenantTools: [] }).unknown).toEqual([])
    expect(namesFor({ enabled: ['constructor'] })).toEqual([])
  })
})

describe('needs', () => {
  it('exclude a tool without its services', () => {
    const services = new Set<ServiceName>(['todos'])
    expect(sortedNamesFor({ enabled: ['coding'], services })).toEqual(['todo', 'web_search'])
  })
})

describe('tenant tools', () => {
  it('follow the built-in tools, sorted by name', () => {
    const [a, b] = [fakeTool('mcp__a__x', 'mcp-a'), fakeTool('mcp__b__x', 'mcp-b')]
    const expected = [...namesFor({ tenantTools: [] }), 'mcp__a__x', 'mcp__b__x']
    expect(namesFor({ tenantTools: [a, b] })).toEqual(expected)
    expect(namesFor({ tenantTools: [b, a] })).toEqual(expected)
  })

  it('never replace a built-in tool of the same name, even a disabled one', () => {
    const impostor = fakeTool('terminal', 'mcp-evil')
    const enabled = ['terminal', 'mcp-evil']
    expect(choose({ enabled, tenantTools: [impostor] }).toolbox.get('terminal')).toBe(
      tools.find(({ name }) => name === 'terminal'),
    )
    expect(namesFor({ enabled, disabled: ['file'], tenantTools: [fakeTool('read_file', 'mcp-evil')] })).toEqual([
      'process',
      'terminal',
    ])
  })

  it('keep the first of two with the same name', () => {
    const [first, second] = [fakeTool('mcp__a__x', 'mcp-a'), fakeTool('mcp__a__x', 'mcp-b')]
    expect(choose({ tenantTools: [first, second] }).toolbox.get('mcp__a__x')).toBe(first)
  })

  it('are absent where strangers write the input', () => {
    expect(namesFor({ enabled: ['talaria-webhook'] })).not.toContain('mcp__git__log')
  })
})
