/**
 * Tests the backend with a simulated container, whose scripts run in a real bash. Like a real one, it returns failures
 * as values, may be replaced during a request, and may never respond.
 */

import { afterEach, describe, expect, it } from 'vitest'
import type { SandboxResult, SandboxPort, SandboxFailure } from '#backends/cloudflare/sandbox-port.ts'
import { cloudflareBackend } from '#backends/cloudflare/cloudflare.ts'
import { resetMessage } from '#backends/cloudflare/container-failure.ts'
import type { Egress } from '#backends/cloudflare/egress.ts'
import type { HostRecord } from '#backends/host/host-port.ts'
import { entryOf, sandboxConfig } from '../../../scripts/lib/sandbox-config.mjs'
import { createLocalHost } from '../host/local-host.mjs'

const T = { timeoutMs: 10_000 }
const drops: (() => void)[] = []
afterEach(() => drops.splice(0).forEach((drop) => drop()))

type Play = (what: keyof SandboxPort) => SandboxFailure | 'throws' | undefined

function open(play: Play = () => undefined) {
  const world = { hosts: [] as readonly string[], applied: [] as Egress[] }
  const host = createLocalHost()
  drops.push(host.drop)
  const asked: string[] = []
  const answer = async <R>(what: keyof SandboxPort, work: () => Promise<R>): Promise<SandboxResult<R>> => {
    asked.push(what)
    const trouble = play(what)
    if (trouble === 'throws') throw new Error('The Durable Object was reset.')
    return trouble ? { trouble } : { ok: await work() }
  }
  const box: SandboxPort = {
    run: (script, timeoutMs, egress) => {
      world.applied.push(egress)
      return answer('run', () => host.port.run(script, timeoutMs))
    },
    read: (path) => answer('read', () => host.port.read(path)),
    write: (path, bytes) => answer('write', async () => (await host.port.write(path, bytes), null)),
    restore: () => answer('restore', async () => 'lost' as const),
    destroy: () => answer('destroy', async () => (await host.port.destroy(), null)),
  }
  const kept: { memory: HostRecord } = { memory: {} }
  const memory = { read: () => kept.memory, write: (next: HostRecord) => (kept.memory = next) }
  const { root, state } = host
  const egress = () => ({ tenant: 'acme', hosts: world.hosts })
  return { ...host, asked, world, backend: cloudflareBackend({ sandbox: box, memory, root, state, egress }) }
}

/** Applies once, after the host has been prepared. */
function onceLater(trouble: SandboxFailure | 'throws'): Play {
  let asked = 0
  return (what) => (what === 'run' && ++asked === 4 ? trouble : undefined)
}

describe('a container', () => {
  it('gets the egress rules with every script, and describes them to the model', async () => {
    const { backend, world } = open()
    await backend.exec('true', T)
    expect(world.applied.every(({ tenant, hosts }) => tenant === 'acme' && hosts.length === 0)).toBe(true)
    expect([backend.capabilities.network, backend.describe()]).toEqual(['none', expect.stringContaining('no network')])
    world.hosts = ['api.github.com']
    await backend.exec('true', T)
    expect(world.applied.at(-1)).toEqual({ tenant: 'acme', hosts: ['api.github.com'] })
    expect(backend.capabilities.network).toBe('allowlist')
    expect(backend.describe()).toContain('api.github.com')
  })

  it('that has not started is retried', async () => {
    const starting = { code: 'CONTAINER_UNAVAILABLE', message: 'starting', retryable: true, retryAfterMs: 5 }
    const { backend } = open(onceLater(starting))
    await backend.exec('true', T)
    expect((await backend.exec('echo on', T)).stdout).toBe('on\n')
  })

  it.each([
    [
      'was replaced under a command',
      { code: 'OPERATION_INTERRUPTED', message: 'replaced', admitted: true, retryable: true },
    ],
    ['broke off', { code: 'RPC_TRANSPORT_ERROR', message: 'socket closed' }],
    ['whose object was reset', 'throws'],
  ] as const)('that %s leaves the outcome unknown and is not retried', async (_, trouble) => {
    const { backend, asked } = open(onceLater(trouble))
    await backend.exec('true', T)
    const before = asked.length
    await expect(backend.exec('echo twice >> runs', T)).rejects.toMatchObject({
      code: 'unavailable',
      message: expect.stringContaining('unknown whether the command ran'),
    })
    expect(asked.length).toBe(before + 1)
  })

  it('whose object was reset because nothing started runs the command once, in the next object', async () => {
    let runs = 0
    const { backend, asked } = open((what) => {
      if (what === 'run' && ++runs === 4) throw new Error(resetMessage)
      return undefined
    })
    await backend.exec('true', T)
    const before = asked.length
    expect((await backend.exec('echo once >> runs; cat runs', T)).stdout).toBe('once\n')
    expect(asked.length).toBe(before + 2)
  })

  it('is retried when reading a file was interrupted', async () => {
    let reads = 0
    const { backend } = open((what) =>
      what === 'read' && ++reads === 1
        ? { code: 'OPERATION_INTERRUPTED', message: '', admitted: true, retryable: true, retryAfterMs: 1 }
        : undefined,
    )
    await backend.files.write('a', Uint8Array.of(65))
    expect(await backend.files.read('a')).toEqual(Uint8Array.of(65))
  })

  it.each([
    ['Containers have not been enabled for this Durable Object class.', 'dev:sandbox'],
    ['busy (max_container_instances_exceeded)', 'max_instances'],
  ])('that cannot be had (%s) is an error that says what to do', async (message, hint) => {
    const { backend } = open(() => ({ code: 'CONTAINER_UNAVAILABLE', message, retryable: true, retryAfterMs: 1 }))
    await expect(backend.exec('true', T)).rejects.toMatchObject({
      code: 'unavailable',
      hint: expect.stringContaining(hint),
    })
  })
})

describe('the configuration with containers', () => {
  const plain = 'main = "dist/worker/index.js"\n[build]\ncommand = "node scripts/build-worker.mjs"\n'

  it.each([
    ['sdk', 'with-sandbox', './sandbox/Dockerfile'],
    ['native', 'with-native-sandbox', './sandbox/native.Dockerfile'],
  ])('extends the plain one with the entry and the image of the API %s', (api, entry, image) => {
    const made = sandboxConfig(plain, { api })
    expect(made).toContain(`main = "dist/${entry}/index.js"`)
    expect(made).toContain(`node scripts/build-worker.mjs ${entry}"`)
    expect(made).toContain(`[[containers]]\nclass_name = "SandboxBox"\nimage = "${image}"`)
    expect([entryOf(made), entryOf(plain)]).toEqual([entry, 'index'])
  })

  it('enables containers itself, because wrangler ignores DOCKER_HOST otherwise', () => {
    expect(sandboxConfig(plain)).toMatch(/\[dev\]\nenable_containers = true/)
    expect(sandboxConfig(plain)).toMatch(/\[vars\]\nSANDBOX_TRANSPORT = "rpc"/)
  })

  it('distinguishes the images of two local servers, and not those of deployments', () => {
    const [one, other] = ['1a', '2b'].map((server) => sandboxConfig(plain, { server }))
    expect(one).toContain('image_vars = { TALARIA_SERVER = "1a" }')
    expect(other).not.toBe(one)
    expect(sandboxConfig(plain)).not.toContain('image_vars')
  })

  it('fails when the plain configuration has an unknown form, and for an unknown API', () => {
    expect(() => sandboxConfig('name = "x"')).toThrow('main')
    expect(() => sandboxConfig(`${plain}[dev]\nport = 1\n`)).toThrow('[dev]')
    expect(() => sandboxConfig(plain, { api: 'docker' })).toThrow('sdk or native')
  })
})
