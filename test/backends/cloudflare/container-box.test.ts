/** Tests the object of a container with stand-ins for the SDK and for the native API. */

import { afterEach, describe, expect, it } from 'vitest'
import { cloudflareBackend } from '#backends/cloudflare/cloudflare.ts'
import { ContainerBox, type BoxOptions } from '#backends/cloudflare/container-box.ts'
import type { ContainerHost, WorkspaceCopy } from '#backends/cloudflare/container-host.ts'
import { nativeContainer } from '#backends/cloudflare/native-container.ts'
import { sdkContainer } from '#backends/cloudflare/sdk-container.ts'
import type { HostRecord } from '#backends/host/host-port.ts'
import { conforms } from '../conformance.ts'
import { vendorCases } from '../host/vendors.mjs'
import { StandInContainer } from './stand-in-container.mjs'
import { StandInSandbox } from './stand-in-sandbox.mjs'

const T = { timeoutMs: 10_000 }
const drops: (() => void)[] = []
afterEach(() => drops.splice(0).forEach((drop) => drop()))

type Local = { readonly root: string; readonly state: string }
/** A folder of the test: `/tmp` belongs to the whole machine. */
const temporaryOf = (root: string) => root.replace(/workspace$/, 'tmp')
type Changes = Partial<Pick<BoxOptions, 'timeoutMs' | 'startTimeoutMs'>>

function openBox(host: ContainerHost, { root, state }: Local, changes: Changes = {}) {
  const world = { copy: undefined as WorkspaceCopy | undefined, now: 0, errors: [] as string[] }
  const background: Promise<unknown>[] = []
  const box = new ContainerBox({
    host,
    state,
    record: { get: async () => world.copy, put: async (copy) => void (world.copy = copy) },
    now: () => world.now,
    runInBackground: (work) => void background.push(work),
    logError: (event) => void world.errors.push(event),
    ...changes,
  })
  const kept: { memory: HostRecord } = { memory: {} }
  const backend = cloudflareBackend({
    sandbox: box,
    memory: { read: () => kept.memory, write: (next) => (kept.memory = next) },
    root,
    state,
    temporary: temporaryOf(root),
    egress: () => ({ tenant: 'acme', hosts: [] }),
  })
  const settle = () => Promise.all(background.splice(0))
  return { world, box, backend, settle }
}

function openSdk(changes?: Changes) {
  const sandbox = new StandInSandbox()
  drops.push(() => sandbox.drop())
  const host = sdkContainer({
    sandbox,
    variables: {},
    bucket: sandbox.bucket,
    abandonCopy: () => sandbox.abandonCopy(),
    workspace: '/workspace',
  })
  return { sandbox, ...openBox(host, sandbox.local, changes) }
}

function openNative() {
  const container = new StandInContainer()
  drops.push(() => container.drop())
  const host = nativeContainer({ container, openEgress: () => ({}) as Fetcher, inactivityMs: 600_000 })
  return { container, ...openBox(host, container.local) }
}

conforms('cloudflare, with the SDK', (work) => work(openSdk().backend), vendorCases)
conforms('cloudflare, with the native API', (work) => work(openNative().backend), vendorCases)

/** `npm run chaos` runs the large forms of two tests. */
const isLarge = vendorCases === 'all'

describe('a workspace in a container', () => {
  it('is saved through the bucket and restored in a new container', async () => {
    const opened = openSdk()
    await opened.backend.exec('echo kept > a', T)
    await opened.box.save()
    expect(opened.world).toMatchObject({ errors: [], copy: { id: expect.any(String) } })
    await opened.sandbox.replace()
    const shown = await opened.backend.exec('cat a', T)
    expect(shown).toMatchObject({ stdout: 'kept\n', stderr: expect.stringContaining('last saved') })
  })

  it('is not saved before it is restored', async () => {
    const { backend, box, sandbox, world } = openSdk()
    await backend.exec('echo kept > a', T)
    await box.save()
    const { copy } = world
    await sandbox.replace()
    await box.save()
    expect(world.copy).toEqual(copy)
    expect((await backend.exec('cat a', T)).stdout).toBe('kept\n')
  })

  it('is not replaced by the empty one of a container that came during the copy', async () => {
    const { backend, box, sandbox, world } = openSdk()
    await backend.exec('echo kept > a', T)
    await box.save()
    const { copy } = world
    const create = sandbox.createBackup.bind(sandbox)
    sandbox.createBackup = async (options) => (await sandbox.replace(), create(options))
    await box.save()
    expect(world.copy).toEqual(copy)
    expect(sandbox.objects.size).toBe(2)
  })

  it('is saved while it is used, and old copies are deleted', async () => {
    const { backend, settle, sandbox, world, box } = openSdk()
    for (let turn = 1; turn <= 4; turn++) {
      world.now += 6 * 60_000
      await backend.exec(`echo ${turn} > a`, T)
      await settle()
      expect([...sandbox.objects]).toEqual([
        `backups/${world.copy?.id}/data.sqsh`,
        `backups/${world.copy?.id}/meta.json`,
      ])
    }
    await box.destroy()
    expect(sandbox.objects.size).toBe(0)
  })

  it('is saved again after a copy that hung, whose time is bounded', async () => {
    const { backend, box, sandbox, world } = openSdk({ timeoutMs: 100 })
    await backend.exec('echo kept > a', T)
    sandbox.hasSessionFolder = false
    await box.save()
    expect(world).toMatchObject({ copy: undefined, errors: ['workspace.unsaved'] })
    sandbox.hasSessionFolder = true
    await box.save()
    expect(world.copy).toBeDefined()
  })

  it.each([
    ['has expired', (sandbox: StandInSandbox) => void (sandbox.isExpired = true)],
    ['is missing', (sandbox: StandInSandbox) => sandbox.objects.clear()],
  ])('whose copy %s is told to be lost, and is usable', async (_, spoil) => {
    const { backend, box, sandbox, world } = openSdk()
    await backend.exec('echo kept > a', T)
    await box.save()
    spoil(sandbox)
    await sandbox.replace()
    expect(await backend.exec('ls; echo on', T)).toMatchObject({
      stdout: 'on\n',
      stderr: expect.stringContaining('lost'),
    })
    expect([world.copy, sandbox.objects.size]).toEqual([undefined, 0])
  })

  it('keeps the folders of the SDK when it is cleared', async () => {
    const { backend, sandbox } = openSdk()
    const at = temporaryOf(sandbox.local.root)
    const [own, theirs] = [`${at}/of-a-user`, `${at}/session-test-1234567890123`]
    await backend.exec(`mkdir -p ${own} ${theirs}`, T)
    const paths = (await backend.tree()).map(({ path }) => path)
    expect([own, theirs].map((path) => paths.includes(path))).toEqual([true, false])
    await backend.clear()
    expect((await backend.exec(`ls ${at}`, T)).stdout).toBe('session-test-1234567890123\n')
  })

  it.each([
    ['the SDK', openSdk],
    ['the native API', openNative],
  ] as const)('survives rounds of replacement byte for byte with %s', { timeout: 300_000 }, async (_, open) => {
    const { backend, box, ...rest } = open()
    const [count, rounds] = isLarge ? [2_000, 10] : [200, 3]
    const replace = 'sandbox' in rest ? () => rest.sandbox.replace() : () => rest.container.replace()
    await backend.exec(`for i in {1..${count}}; do echo "$i $RANDOM" > f$i; done`, { timeoutMs: 30_000 })
    const sum = async () => (await backend.exec('cat $(ls | sort -V) | sha256sum; ls | wc -l', T)).stdout
    const before = await sum()
    for (let round = 1; round <= rounds; round++) {
      await box.save()
      await replace()
      expect(await sum()).toBe(before)
    }
    expect(before).toContain(`\n${count}\n`)
  })
})

describe('output of a container', () => {
  it('is complete although it is cut while a copy streams out', { timeout: 300_000 }, async () => {
    const { backend, sandbox } = openSdk()
    await backend.exec(`head -c 300000 /dev/urandom | base64 -w76 | head -c 400000 > big`, T)
    const expected = (await backend.exec('cat big', { ...T, maxOutput: 1e6 })).stdout
    for (let round = 0; round < (isLarge ? 50 : 3); round++) {
      const streamed = { isDone: false }
      const streaming = sandbox.stream(async () => {
        while (!streamed.isDone) await new Promise((resolve) => setTimeout(resolve, 5))
      })
      const shown = await Promise.all(
        Array.from({ length: 10 }, () => backend.exec('cat big', { ...T, maxOutput: 1e6 })),
      )
      streamed.isDone = true
      await streaming
      expect(shown.every(({ stdout }) => stdout === expected)).toBe(true)
    }
    expect(sandbox.cuts).toBeGreaterThan(isLarge ? 250 : 15)
  })

  it('that never arrives in full is an error', async () => {
    const { backend, sandbox } = openSdk()
    await backend.exec('true', T)
    sandbox.execWithSessionToken = async () => ({ exitCode: 0, stdout: '9' })
    await expect(backend.exec('echo lost', T)).rejects.toMatchObject({ code: 'unavailable' })
  })

  it('of a file is read again until it has its size', async () => {
    const { backend, sandbox } = openSdk()
    const bytes = new Uint8Array(5_000).fill(65)
    await backend.files.write('a', bytes)
    let reads = 0
    const read = sandbox.readFile.bind(sandbox)
    sandbox.readFile = async (path, options) => {
      const whole = await read(path, options)
      return ++reads < 3 ? { ...whole, content: whole.content.slice(0, 400) } : whole
    }
    expect(await backend.files.read('a')).toEqual(bytes)
    expect(reads).toBe(3)
  })
})

describe('a container that cannot be reached', () => {
  it('is destroyed once when nothing has begun, and the command runs', async () => {
    const { backend, sandbox } = openSdk({ startTimeoutMs: 1_500 })
    sandbox.isUnreachable = true
    expect((await backend.exec('echo on', T)).stdout).toBe('on\n')
    expect(sandbox.destroyed).toBe(1)
  })

  it('still after that is an error that says so, in bounded time', async () => {
    const { backend, sandbox } = openSdk({ startTimeoutMs: 100 })
    sandbox.execWithSessionToken = () => new Promise<never>(() => {})
    const since = performance.now()
    await expect(backend.exec('echo on', T)).rejects.toMatchObject({
      code: 'unavailable',
      message: expect.stringContaining('did not end within 0.1 s'),
    })
    expect([sandbox.destroyed, performance.now() - since < 5_000]).toEqual([1, true])
  })

  it('is probed again after a minute without a request', async () => {
    const { backend, sandbox, world } = openSdk({ startTimeoutMs: 1_500 })
    await backend.exec('true', T)
    world.now += 61_000
    sandbox.isUnreachable = true
    await backend.exec('true', T)
    expect(sandbox.destroyed).toBe(1)
  })
})

describe('a command in a container', () => {
  it('that is killed is not called timed out', async () => {
    const { backend } = openSdk()
    const result = await backend.exec('echo before; kill -KILL $$', T)
    expect(result).toMatchObject({ exitCode: 137, timedOut: false, stdout: 'before\n' })
    expect(result.stderr).toContain('was killed before its time limit')
  })

  it('keeps its output so far when it is stopped', async () => {
    const { backend } = openSdk()
    await backend.exec('true', T)
    const stop = new AbortController()
    const running = backend.exec('echo first; touch begun; sleep 20', { ...T, signal: stop.signal })
    while (!(await backend.files.stat('begun'))) await new Promise((resolve) => setTimeout(resolve, 20))
    stop.abort()
    expect(await running).toMatchObject({ exitCode: null, timedOut: false, stdout: 'first\n' })
  })

  it('in the background that is killed by the system has its true code', async () => {
    const { backend } = openSdk()
    await backend.jobs?.start('j', 'kill -KILL $$', { timeoutMs: 60_000 })
    let state = await backend.jobs?.state('j')
    while (state?.at === 'running') state = await backend.jobs?.state('j')
    expect(state).toEqual({ at: 'exited', exitCode: 137 })
  })
})

describe('the native API', () => {
  it('has closed egress from the start, and the rules in every new container', async () => {
    const { backend, container } = openNative()
    await backend.exec('true', T)
    const before = container.intercepted
    await container.replace()
    await backend.exec('true', T)
    expect(container.intercepted).toBeGreaterThan(before)
  })

  it('that is not there is an error that says what to do', async () => {
    const host = nativeContainer({ container: undefined, openEgress: () => ({}) as Fetcher, inactivityMs: 600_000 })
    const { backend } = openBox(host, { root: '/workspace', state: '/tmp/.talaria' })
    await expect(backend.exec('true', T)).rejects.toMatchObject({ message: 'There are no containers here.' })
  })

  it('tells that files are lost when a snapshot is gone', async () => {
    const { backend, container, box, world } = openNative()
    await backend.exec('echo a > a', T)
    await box.save()
    world.copy = { id: 'unknown' }
    await container.replace()
    expect((await backend.exec('ls', T)).stderr).toContain('lost')
    expect(world.copy).toBeUndefined()
  })
})
