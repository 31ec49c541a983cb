/** Tests what only the native API needs: its activity timer, and a certificate that programs do not know. */

import { afterEach, describe, expect, it } from 'vitest'
import { itInTurn } from '#test/support/long.ts'
import { ContainerBox } from '#backends/cloudflare/container-box.ts'
import { cloudflareBackend } from '#backends/cloudflare/cloudflare.ts'
import { nativeContainer } from '#backends/cloudflare/native-container.ts'
import { type Changes, createWorld, openContainer } from './open-container.ts'
import { canMakeCertificates, clients, startSite } from './trusted-site.mjs'

const T = { timeoutMs: 30_000 }
const drops: (() => void)[] = []
afterEach(() => drops.splice(0).forEach((drop) => drop()))

function open(changes: Changes = {}, world = createWorld()) {
  drops.push(() => world.engine.drop())
  return openContainer('native', world, changes)
}

describe('the activity timer', () => {
  it('is renewed while a command runs, so that it may take longer', async () => {
    const { backend, engine } = open({ inactivityMs: 400 })
    expect((await backend.exec('sleep 1; echo on', T)).stdout).toBe('on\n')
    expect(engine.kills).toBe(0)
  })

  itInTurn('is renewed by every use', async () => {
    const { backend, engine } = open({ inactivityMs: 1_200 })
    for (const since = performance.now(); performance.now() - since < 1_600;) {
      expect((await backend.exec('echo on', T)).stderr).toBe('')
      await new Promise((resolve) => setTimeout(resolve, 200))
    }
    expect(engine.kills).toBe(0)
  })

  it('is renewed for a job, and stops the container when nobody renews it', async () => {
    const { backend, engine, box } = open({ inactivityMs: 1_200 })
    await backend.jobs?.start('j', 'sleep 60', { timeoutMs: 600_000 })
    for (const since = performance.now(); performance.now() - since < 1_600;) {
      expect(await box.rest()).toBe('awake')
      await new Promise((resolve) => setTimeout(resolve, 200))
    }
    expect(engine.kills).toBe(0)
    while (engine.running) await new Promise((resolve) => setTimeout(resolve, 50))
    expect(engine.kills).toBe(1)
  })
})

it('a command that writes ~/.bashrc changes nothing for later ones', async () => {
  const { backend } = open()
  await backend.exec('echo "echo noise" > ~/.bashrc', T)
  expect(await backend.exec('cat ~/.bashrc', T)).toMatchObject({ stdout: 'echo noise\n', exitCode: 0 })
})

describe('egress', () => {
  itInTurn('has its rules in every new container, before it starts', async () => {
    const { backend, container, engine } = open()
    let interceptedAtStart = 0
    const start = engine.start.bind(engine)
    engine.start = () => {
      interceptedAtStart = container.intercepted
      start()
    }
    await backend.exec('true', T)
    expect(interceptedAtStart).toBeGreaterThan(0)
    const before = container.intercepted
    engine.kill()
    await backend.exec('true', T)
    expect(interceptedAtStart).toBeGreaterThan(before)
  })
})

describe.skipIf(!canMakeCertificates)('HTTPS that the platform intercepts', () => {
  itInTurn('is trusted by curl, python, node and git, in the first command of a new container', async () => {
    const { backend, container, engine } = open()
    const site = await startSite()
    drops.push(site.close)
    engine.start()
    engine.kill()
    container.authority.text = site.authority
    for (const [program, request] of clients)
      expect(await backend.exec(request(site.url), T), program).toMatchObject({ stdout: 'trusted' })
    engine.kill()
    for (const [program, request] of clients.slice(0, 1))
      expect(await backend.exec(request(site.url), T), program).toMatchObject({ stdout: 'trusted' })
  })

  itInTurn(
    'is trusted by programs that read the list of the system, such as apt, which keeps its entries',
    async () => {
      const { backend, container, engine } = open()
      const site = await startSite()
      drops.push(site.close)
      container.authority.text = site.authority
      const system = engine.inside('/ca/system.crt')
      const start = engine.start.bind(engine)
      engine.start = () => {
        start()
        engine.put('/ca/system.crt', '# an authority of the world\n')
      }
      const host = site.url.replace('https://', '')
      const shown = await backend.exec(
        `echo | openssl s_client -CAfile ${system} -connect ${host} -verify_return_error 2>&1 | grep 'Verify return code: 0' | head -n 1 | wc -l; grep -c world ${system} $CURL_CA_BUNDLE`,
        T,
      )
      expect(shown.stdout).toMatch(/^1\n.*:1\n.*:1\n$/)
    },
  )

  it('is not trusted without it', async () => {
    const { backend } = open()
    const site = await startSite()
    drops.push(site.close)
    expect((await backend.exec(`curl -sS ${site.url}`, T)).exitCode).not.toBe(0)
  })
})

it('without containers the error says what to do', async () => {
  const host = nativeContainer({ container: undefined, openEgress: () => ({}) as Fetcher, inactivityMs: 600_000 })
  const box = new ContainerBox({
    host,
    bucket: undefined,
    record: { get: async () => undefined, put: async () => undefined },
    idle: { get: async () => undefined, put: async () => undefined },
    now: () => 0,
    runInBackground: () => undefined,
    logError: () => undefined,
  })
  const memory = { read: () => ({}), write: () => undefined }
  const backend = cloudflareBackend({ sandbox: box, memory, egress: () => ({ tenant: 'acme', hosts: [] }) })
  await expect(backend.exec('true', T)).rejects.toMatchObject({ message: 'There are no containers here.' })
})
