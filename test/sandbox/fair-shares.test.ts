/** Tests how the sandbox server shares slots, memory and control groups between tenants. */

import { afterAll, describe, expect, it } from 'vitest'
import { openGroupTree, openSlots } from './parts.mjs'

const limits = {
  EXECS: 8,
  TENANT_EXECS: 3,
  ALL_EXECS: 4,
  QUEUE: 4,
  QUEUE_MS: 60_000,
  MEMORY_BYTES: 10,
  TENANT_MEMORY_BYTES: 15,
  ALL_MEMORY_BYTES: 25,
  PROCESSES: 64,
  CPU_PERCENT: 50,
}
const tenantOf = (workspace: string) => workspace.slice(0, 1)
const slotsWith = (more: Partial<typeof limits> = {}, limitsMemory = false) =>
  openSlots({ limits: { ...limits, ...more }, tenantOf, limitsMemory })
const settle = () => new Promise((resolve) => setImmediate(resolve))

describe('slots', () => {
  it('go to the tenant with the fewest commands, whoever waits longest', async () => {
    const slots = slotsWith()
    const releases = [
      await slots.acquire('a1'),
      await slots.acquire('a2'),
      await slots.acquire('a3'),
      await slots.acquire('b1'),
    ]
    const order: string[] = []
    const start = (name: string) =>
      slots.acquire(name).then((release) => {
        order.push(name)
        return release
      })
    const waiting = [start('a4'), start('a5'), start('b2'), start('c1')]
    await settle()
    expect([slots.count(), slots.waiting(), order]).toEqual([4, 4, []])
    releases[0]?.()
    await settle()
    expect(order).toEqual(['c1'])
    releases[1]?.()
    await settle()
    expect(order).toEqual(['c1', 'a4'])
    releases[2]?.()
    await settle()
    expect(order).toEqual(['c1', 'a4', 'a5'])
    releases[3]?.()
    for (const next of waiting) (await next)()
    expect([slots.count(), slots.waiting()]).toEqual([0, 0])
  })

  it('leave room for others when one tenant floods the server', async () => {
    const slots = slotsWith()
    const flood = Array.from({ length: 20 }, (_, n) => slots.acquire(`a${n}`).catch((error: Error) => error.message))
    await settle()
    const release = await slots.acquire('b1')
    expect(slots.count()).toBe(4)
    expect((await Promise.all(flood.slice(7))).every((text) => String(text).includes('Too many'))).toBe(true)
    release()
  })

  it('are refused above the limit of a workspace, after the wait, and to a client that has gone', async () => {
    const slots = slotsWith({ EXECS: 1, QUEUE_MS: 20 })
    await slots.acquire('a1')
    await expect(slots.acquire('a1')).rejects.toThrow('in this workspace')
    for (const name of ['a2', 'a3', 'b1']) await slots.acquire(name)
    await expect(slots.acquire('c1')).rejects.toThrow('20 ms')
    const gone = new AbortController()
    const waiting = slots.acquire('c2', gone.signal)
    gone.abort()
    await expect(waiting).rejects.toThrow('gone')
    expect(slots.waiting()).toBe(0)
  })

  it('count the memory of workspaces where no control group limits the sum', async () => {
    const slots = slotsWith({}, true)
    const [one] = [await slots.acquire('a1'), await slots.acquire('b1')]
    await slots.acquire('b1')
    let isStarted = false
    const third = slots.acquire('c1').then(() => (isStarted = true))
    await settle()
    expect(isStarted).toBe(false)
    one?.()
    await third
    expect(isStarted).toBe(true)
  })
})

describe('control groups', () => {
  const [newer, older] = [openGroupTree(limits, 2), openGroupTree(limits, 1)]
  afterAll(() => {
    newer.remove()
    older.remove()
  })

  it('limit the server, each tenant with the same weight, and each workspace', () => {
    expect(newer.groups.level).toBe('cgroup2')
    expect(newer.groups.enter('workspace', 'tenant')).toEqual([
      expect.stringMatching(/talaria-sandboxes\/talaria-tenant\/talaria-workspace\/cgroup\.procs$/),
    ])
    const [all, tenant, workspace] = ['', '/talaria-tenant', '/talaria-tenant/talaria-workspace'].map((path) =>
      newer.filesOf(`talaria-sandboxes${path}`),
    )
    expect(all).toMatchObject({ 'memory.max': '25' })
    expect(tenant).toMatchObject({ 'memory.max': '15', 'cpu.weight': '100' })
    expect(tenant).not.toHaveProperty('cpu.max')
    expect(workspace).toMatchObject({ 'memory.max': '10', 'pids.max': '64', 'cpu.max': '50000 100000' })
    expect(workspace).not.toHaveProperty('cgroup.subtree_control')
  })

  it('of version 1 have the same levels', () => {
    expect(older.groups.level).toBe('cgroup1')
    expect(older.groups.enter('workspace', 'tenant')).toHaveLength(3)
    const at = (controller: string, path: string) => older.filesOf(`${controller}/talaria-sandboxes${path}`)
    expect(at('memory', '')).toMatchObject({ 'memory.limit_in_bytes': '25' })
    expect(at('memory', '/talaria-tenant')).toMatchObject({ 'memory.limit_in_bytes': '15' })
    expect(at('memory', '/talaria-tenant/talaria-workspace')).toMatchObject({ 'memory.limit_in_bytes': '10' })
    expect(at('cpu', '/talaria-tenant')).toMatchObject({ 'cpu.shares': '1000' })
    expect(at('pids', '/talaria-tenant/talaria-workspace')).toMatchObject({ 'pids.max': '64' })
  })

  it('are removed when they are empty, from the inside out', () => {
    const used = 'talaria-sandboxes/talaria-other'
    newer.groups.enter('used', 'other')
    newer.groups.enter('empty', 'other')
    newer.setProcesses(`${used}/talaria-used`, '123\n')
    newer.groups.sweep()
    // A process may still be about to join it.
    expect(newer.filesOf(`${used}/talaria-empty`)).toBeDefined()
    newer.pass(60_000)
    newer.groups.sweep()
    expect(newer.filesOf(`${used}/talaria-empty`)).toBeUndefined()
    expect(newer.filesOf(`${used}/talaria-used`)).toBeDefined()
    newer.setProcesses(`${used}/talaria-used`, '')
    // Removing a group inside counts as a use.
    newer.groups.sweep()
    newer.pass(60_000)
    newer.groups.sweep()
    expect(newer.filesOf(used)).toBeUndefined()
  })
})
