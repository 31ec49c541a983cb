import { describe, expect, it } from 'vitest'
import { sessionTools } from '#durable/turn/session-toolbox.ts'
import { echoTool } from '#test/tools/support/echo-tool.ts'

describe('the tools of a session', () => {
  const services = ['files', 'terminal'] as never

  it('hold those of the tenant behind the built-in ones', () => {
    const { tools, schemas } = sessionTools({}, services, [echoTool])
    expect([...tools.keys()].at(-1)).toBe(echoTool.name)
    expect(schemas.at(-1)).toMatchObject({ name: echoTool.name, inputSchema: echoTool.inputSchema })
  })

  it('are shared by sessions with the same choice', () => {
    const tenantTools = [echoTool]
    expect(sessionTools({}, services, tenantTools)).toBe(sessionTools({ timezone: 'UTC' }, services, tenantTools))
    expect(sessionTools({}, services, [echoTool])).not.toBe(sessionTools({}, services, tenantTools))
    expect(sessionTools({}, services).tools.has(echoTool.name)).toBe(false)
  })
})
