/** Tests the object of a container with stand-ins for the SDK and for the native API. */

import { afterEach, describe, expect, it } from 'vitest'
import { conforms, onOne } from '../conformance.ts'
import { endsEscapes } from '../host/escapes.ts'
import { firstRows, isLong, itInTurn } from '../../support/long.ts'
import { vendorCases } from '../host/vendors.mjs'
import { type Api, type Changes, createWorld, openContainer, type World } from './open-container.ts'

const T = { timeoutMs: 10_000 }
const drops: (() => void)[] = []
afterEach(() => drops.splice(0).forEach((drop) => drop()))

function open(api: Api, changes: Changes = {}, world = createWorld()) {
  drops.push(() => world.engine.drop())
  return openContainer(api, world, { retryMs: 20, ...changes })
}

/** The rules are those of the box, so `npm test` tries most with one API. */
const apis = firstRows<Api>(1, ['sdk', 'native'])
const bothApis = ['sdk', 'native'] as const
/** The rules below try the other API. */
for (const api of firstRows<Api>(1, ['native', 'sdk'])) {
  const onOneContainer = onOne(async () => {
    const { backend, engine } = openContainer(api, createWorld(), { retryMs: 20 })
    return { backend, close: () => engine.drop() }
  })
  conforms(`cloudflare, with the API ${api}`, onOneContainer, vendorCases)
}

const until = async (isTrue: () => boolean) => {
  while (!isTrue()) await new Promise((resolve) => setTimeout(resolve, 20))
}
const jobEnd = (engine: World['engine'], id: string) => until(() => engine.has(`.talaria/j-${id}/exit`))

describe.each(apis)('a healthy container, with the API %s,', (api) => {
  it('is not destroyed when its workspace is removed: the folder is made anew, which is told', async () => {
    const { backend, engine, world } = open(api)
    await backend.exec(`echo kept > a; rm -rf ${engine.root}`, T)
    world.now += 120_000
    expect(await backend.exec('ls', T)).toMatchObject({ stdout: '', stderr: expect.stringContaining('created again') })
    expect(engine).toMatchObject({ destroyed: 0, starts: 1 })
  })

  itInTurn(
    'has its workspace back that a command moved, with all that was written, and a link at its other name',
    async () => {
      const { backend, engine, box } = open(api)
      const to = `${engine.temporary}/keep it`
      const moved = await backend.exec(
        `echo one > a; mv ${engine.root} '${to}'; echo two > b; echo three > '${to}/c'`,
        T,
      )
      expect(moved.stderr).toContain(`had been moved to ${to}. Only ${engine.root} is saved, so it was moved back`)
      const shown = await backend.exec(`cat a b c '${to}/b'`, T)
      expect(shown).toMatchObject({ stdout: 'one\ntwo\nthree\ntwo\n', stderr: '' })
      expect(await box.save()).toBe('saved')
      engine.kill()
      expect((await backend.exec('cat a b c', T)).stdout).toBe('one\ntwo\nthree\n')
      expect(engine.destroyed).toBe(0)
    },
  )

  itInTurn.each([
    ['the next command', 'nothing'],
    ['a copy', 'saved'],
  ])(
    'has its workspace back that a job moved, with %s',
    async (first, outcome) => {
      const { backend, engine, box } = open(api)
      const [to, go] = [`${engine.temporary}/kept`, engine.outside('go')]
      await backend.exec('echo one > a', T)
      const wait = `while [ ! -e ${go} ]; do sleep 0.05; done`
      const job = `mv ${engine.root} ${to}; echo two > b; touch ${engine.temporary}/moved; ${wait}; echo late > late`
      await backend.jobs?.start('moves', job, { timeoutMs: 60_000 })
      await until(() => engine.has('tmp/moved'))
      expect(first === 'a copy' ? await box.save() : 'nothing').toBe(outcome)
      expect((await backend.exec(`cat a b; touch ${go}`, T)).stdout).toBe('one\ntwo\n')
      await jobEnd(engine, 'moves')
      expect((await backend.exec('cat late', T)).stdout).toBe('late\n')
      expect(await box.save()).toBe('saved')
      engine.kill()
      expect((await backend.exec('cat a b late', T)).stdout).toBe('one\ntwo\nlate\n')
    },
    30_000,
  )

  itInTurn('keeps a workspace that a command has put in the place of the other, and brings nothing back', async () => {
    const { backend, engine } = open(api)
    const old = `${engine.temporary}/old`
    const replaced = await backend.exec(`echo old > a; mv ${engine.root} ${old}; mkdir ${engine.root}`, T)
    expect(replaced.stderr).toContain(
      `moved to ${old}, and another folder is in its place. Only ${engine.root} is saved`,
    )
    expect(await backend.exec(`ls; cat ${old}/a`, T)).toMatchObject({ stdout: 'old\n', stderr: '' })
    const inside = `mv ${engine.root} ${old}2; mkdir ${engine.root}; mv ${old}2 ${engine.root}/inside`
    expect((await backend.exec(inside, T)).stderr).toBe('')
    await backend.exec(`rm -rf ${engine.root}`, T)
    expect((await backend.exec(`cat ${old}/a; ls`, T)).stdout).toBe('old\n')
  })

  itInTurn('says that a job has put another folder in the place of its workspace, which is what is saved', async () => {
    const { backend, engine, box } = open(api)
    const [old, ready] = [`${engine.temporary}/old`, `${engine.temporary}/ready`]
    await backend.exec('echo old > a', T)
    const job = `mv ${engine.root} ${old}; mkdir ${engine.root}; echo in > b; touch ${ready}; sleep 60`
    await backend.jobs?.start('replaces', job, { timeoutMs: 60_000 })
    await until(() => engine.has('tmp/ready'))
    await backend.files.write('new', new TextEncoder().encode('new'))
    expect(await backend.exec(`ls; cat ${old}/a ${old}/b`, T)).toMatchObject({
      stdout: 'new\nold\nin\n',
      stderr: expect.stringContaining(`moved to ${old}, and another folder is in its place`),
    })
    await backend.jobs?.kill('replaces')
    expect((await backend.exec(`cp ${old}/b .`, T)).stderr).toBe('')
    expect(await box.save()).toBe('saved')
    engine.kill()
    expect((await backend.exec('cat new b', T)).stdout).toBe('newin\n')
    expect(engine.destroyed).toBe(0)
  })

  itInTurn.each([
    ['a file', (root: string) => `rm -rf ${root}; echo kept > ${root}`],
    ['a link to nothing', (root: string) => `rm -rf ${root}; ln -s /nowhere ${root}`],
  ])('can be used when its workspace was replaced with %s, which is moved', async (_, command) => {
    const { backend, engine } = open(api)
    await backend.exec(command(engine.root), T)
    const shown = await backend.exec(`pwd; ls -d ${engine.root}.moved-*`, T)
    expect(shown.stdout).toMatch(/^\S+\/workspace\n\S+\/workspace\.moved-\d+-\w+\n$/)
    expect(shown.stderr).toContain('created again')
    expect(engine.destroyed).toBe(0)
  })

  it('can be used when our own folder was replaced with a file', async () => {
    const { backend, engine } = open(api)
    await backend.exec('echo kept > a', T)
    await backend.exec(`rm -rf ${engine.state}; echo x > ${engine.state}`, T).catch(() => undefined)
    expect((await backend.exec('cat a', T)).stdout).toBe('kept\n')
    expect(engine.destroyed).toBe(0)
  })

  it('costs one call of its API for a command', async () => {
    const { backend, container, sandbox } = open(api)
    const calls: string[] = []
    const [native, sdk] = [container.exec.bind(container), sandbox.execWithSessionToken.bind(sandbox)]
    container.exec = (...given) => (calls.push('native'), native(...given))
    sandbox.execWithSessionToken = (...given) => (calls.push('sdk'), sdk(...given))
    const count = async (work: () => Promise<unknown>) => (await work(), calls.splice(0).length)
    const first = await count(() => backend.exec('true', T))
    const warm = await count(async () => {
      for (let turn = 0; turn < 4; turn++) await backend.exec('true', T)
    })
    // Probe, check, preparation, command; the native API also sets the certificate.
    expect([first, warm]).toEqual([api === 'sdk' ? 4 : 5, 4])
  })

  it('keeps its last copy while the workspace is missing', async () => {
    const { backend, engine, box, world } = open(api)
    await backend.exec('echo kept > a', T)
    expect(await box.save()).toBe('saved')
    const before = world.stored
    await backend.exec(`rm -rf ${engine.root}`, T)
    expect(await box.save()).toBe('nothing')
    expect(world.stored).toEqual(before)
  })

  it('is not destroyed when it answers with errors', async () => {
    const { backend, engine, world, sandbox } = open(api)
    await backend.exec('echo kept > a', T)
    const spawn = engine.spawn.bind(engine)
    const exec = sandbox.execWithSessionToken.bind(sandbox)
    const refuse = () =>
      Promise.reject(
        Object.assign(new Error('EAGAIN: no more processes'), { errorResponse: { code: 'COMMAND_EXECUTION_ERROR' } }),
      )
    engine.spawn = refuse
    sandbox.execWithSessionToken = refuse
    world.now += 120_000
    await expect(backend.exec('cat a', T)).rejects.toMatchObject({ message: expect.stringContaining('EAGAIN') })
    engine.spawn = spawn
    sandbox.execWithSessionToken = exec
    expect(await backend.exec('cat a', T)).toMatchObject({ stdout: 'kept\n', stderr: '' })
    expect(engine.destroyed).toBe(0)
  })

  it('keeps newer files when a command empties /tmp', async () => {
    const { backend, engine, box } = open(api)
    await backend.exec('echo old > a', T)
    await box.save()
    await backend.exec('echo new > a', T)
    await backend.exec(`find ${engine.temporary} -mindepth 1 -delete`, T)
    expect(await backend.exec('cat a', T)).toMatchObject({ stdout: 'new\n', stderr: '' })
  })

  itInTurn.each(['with a copy', 'without a copy'])(
    'keeps newer files when our own folder is removed, %s',
    async (which) => {
      const { backend, engine, box } = open(api)
      await backend.exec('echo old > a', T)
      if (which === 'with a copy') await box.save()
      await backend.exec('echo new > a', T)
      await backend.exec(`rm -rf ${engine.state}`, T).catch(() => undefined)
      const shown = await backend.exec('cat a', T)
      expect(shown).toMatchObject({ stdout: 'new\n', stderr: expect.stringContaining('left as it is') })
      expect((await backend.exec('cat a', T)).stderr).toBe('')
    },
  )

  itInTurn.each(['lost', 'live', '', 'restored\\nlost', '\\0'])(
    'keeps newer files when a record says %j',
    async (word) => {
      const { backend, engine, box } = open(api)
      await backend.exec('echo old > a', T)
      await box.save()
      await backend.exec('echo new > a', T)
      await backend
        .exec(`printf '${word}' > ${engine.state}/restored; rm ${engine.state}/boot`, T)
        .catch(() => undefined)
      expect(await backend.exec('cat a', T)).toMatchObject({
        stdout: 'new\n',
        stderr: expect.stringContaining('left as it is'),
      })
    },
  )

  itInTurn('keeps what was only moved, removed or touched in its times since the copy', async () => {
    const { backend, engine, box } = open(api)
    await backend.exec('mkdir d; echo 1 > d/a; echo 2 > b; touch -d 2001-01-01 d/a b', T)
    await box.save()
    for (const change of ['mv d/a d/c', 'rm b', 'echo x > d/c; touch -d 2001-01-01 d/c']) {
      await backend.exec(change, T)
      await backend.exec(`rm -rf ${engine.state}`, T).catch(() => undefined)
      expect((await backend.exec('ls d', T)).stdout, change).toBe('c\n')
    }
    expect((await backend.exec('cat d/c; ls', T)).stdout).toBe('x\nd\n')
  })
})

/** Cases that depend on the API are tried with both. */
describe.each(bothApis)('a container that was killed, with the API %s,', (api) => {
  const isTried = apis.includes(api)

  it('runs the first command after it, with the files as last saved', async () => {
    const { backend, engine, box } = open(api)
    await backend.exec('echo kept > a', T)
    await box.save()
    engine.kill()
    expect(await backend.exec('cat a; echo x >> runs; cat runs', T)).toMatchObject({
      stdout: 'kept\nx\n',
      stderr: expect.stringContaining('last saved'),
    })
  })

  itInTurn('without that the platform has noticed runs the next command at most once', async () => {
    const { backend, engine, box } = open(api)
    await backend.exec('echo kept > a', T)
    await box.save()
    engine.kill({ isNoticed: false })
    const told = await backend.exec('echo x >> runs', T).then(({ stderr }) => stderr, String)
    // With a network, nobody knows what a command did that the SDK had sent. The native API says that it has not begun.
    expect(told).toMatch(api === 'sdk' ? /unknown whether the command ran/ : /last saved/)
    const { stdout } = await backend.exec('cat a; cat runs 2>/dev/null; true', T)
    expect(['kept\n', 'kept\nx\n']).toContain(stdout)
  })

  itInTurn.runIf(isTried)(
    'without that the platform has noticed runs the first command after it, when there is no network',
    async () => {
      const { backend, engine, box } = open(api, { hosts: [] })
      await backend.exec('echo kept > a', T)
      await box.save()
      engine.kill({ isNoticed: false })
      expect(await backend.exec('cat a; echo x >> runs; cat runs', T)).toMatchObject({
        stdout: 'kept\nx\n',
        stderr: expect.stringContaining('last saved'),
      })
    },
  )

  it.runIf(isTried)('by a command each time leaves an unknown outcome after the second one', async () => {
    const { backend, engine } = open(api, { hosts: [] })
    await backend.exec('true', T)
    const started = engine.outside('started')
    const running = backend.exec(`echo x >> ${started}; touch here; sleep 20`, T)
    const state = { isOver: false }
    running.catch(() => (state.isOver = true))
    while (!state.isOver) {
      if (engine.has('workspace/here')) engine.kill({ isNoticed: false })
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
    await expect(running).rejects.toMatchObject({ message: expect.stringContaining('unknown') })
    expect(engine.read(started).length).toBeLessThanOrEqual('x\nx\n'.length)
  })

  itInTurn.runIf(isTried)('under a command of which a copy was made does not run it again', async () => {
    const { backend, engine, box } = open(api, { hosts: [] })
    await backend.exec('true', T)
    const running = backend.exec('echo x >> runs; sleep 20', T)
    running.catch(() => undefined)
    await until(() => engine.has('workspace/runs'))
    expect(await box.save()).toBe('saved')
    engine.kill()
    await expect(running).rejects.toMatchObject({ message: expect.stringContaining('unknown') })
    expect((await backend.exec('cat runs', T)).stdout).toBe('x\n')
  })

  it.runIf(isTried)('is told although the objects end before the next command', async () => {
    const { backend, engine, box, world } = open(api)
    await backend.exec('echo kept > a', T)
    await box.save()
    engine.kill()
    await backend.files.stat('a')
    const after = openContainer(api, world, { retryMs: 20 })
    expect((await after.backend.exec('cat a', T)).stderr).toContain('last saved')
    expect((await after.backend.exec('cat a', T)).stderr).toBe('')
  })

  it.runIf(isTried)('runs the first command after some idle time, even when the platform has not noticed', async () => {
    const { backend, engine, box, world } = open(api)
    await backend.exec('echo kept > a', T)
    await box.save()
    engine.kill({ isNoticed: false })
    world.now += 11_000
    expect(await backend.exec('cat a', T)).toMatchObject({ stdout: 'kept\n' })
  })

  it('under a command leaves an unknown outcome, and the command is not run again', async () => {
    const { backend, engine, box } = open(api)
    await backend.exec('true', T)
    await box.save()
    const running = backend.exec('echo x >> runs; sleep 5', T)
    running.catch(() => undefined)
    await until(() => engine.has('workspace/runs'))
    engine.kill()
    await expect(running).rejects.toMatchObject({ message: expect.stringContaining('unknown') })
    expect((await backend.exec('cat runs 2>/dev/null; true', T)).stdout).toBe('')
  })

  it.runIf(isTried)('during a save leaves the copy before it', async () => {
    const { backend, engine, box, bucket, world } = open(api)
    await backend.exec('echo kept > a', T)
    await box.save()
    await backend.exec('head -c 9000000 /dev/urandom > b', T)
    const put = bucket as unknown as { put: (key: string, bytes: Uint8Array) => Promise<void> }
    const whole = put.put.bind(bucket)
    put.put = async (key, bytes) => {
      await whole(key, bytes)
      engine.kill()
    }
    expect(await box.save()).toBe('failed')
    put.put = whole
    expect((await backend.exec('cat a; ls', T)).stdout).toBe('kept\na\n')
    await box.save()
    expect(new Set([...bucket.objects.keys()].map((key) => key.split('/')[1])).size).toBe(2)
    expect(world.stored).toMatchObject({ copies: [{}, {}] })
  })
})

describe.each(apis)('a container that is paused, with the API %s,', (api) => {
  it('costs the first command a wait', async () => {
    const { backend, engine, world } = open(api)
    await backend.exec('echo kept > a', T)
    engine.pause()
    world.now += 120_000
    setTimeout(() => engine.unpause(), 300)
    expect(await backend.exec('cat a', T)).toMatchObject({ stdout: 'kept\n', stderr: '' })
    expect(engine).toMatchObject({ destroyed: 0, starts: 1 })
  })

  itInTurn('under a command goes on with it', async () => {
    const { backend, engine } = open(api)
    await backend.exec('true', T)
    const running = backend.exec('echo x >> runs; sleep 0.3; cat runs', T)
    await until(() => engine.has('workspace/runs'))
    engine.pause()
    setTimeout(() => engine.unpause(), 300)
    expect(await running).toMatchObject({ stdout: 'x\n', exitCode: 0 })
  })

  itInTurn('for too long is replaced, and the loss is told', async () => {
    const { backend, engine, box, world } = open(api, { silenceMs: 2_000 })
    await backend.exec('echo kept > a', T)
    await box.save()
    engine.pause()
    world.now += 120_000
    expect(await backend.exec('cat a', T)).toMatchObject({
      stdout: 'kept\n',
      stderr: expect.stringContaining('last saved'),
    })
    expect(engine).toMatchObject({ destroyed: 1, starts: 2 })
  })
})

describe('a container of the SDK that does not start at once', () => {
  it('is retried, because nothing has run', async () => {
    const { backend, sandbox, engine } = open('sdk')
    sandbox.failingStarts = 4
    expect((await backend.exec('echo on', T)).stdout).toBe('on\n')
    expect(engine.destroyed).toBe(0)
  })

  it('when a command comes is retried, because the command has not run', async () => {
    const { backend, sandbox, engine } = open('sdk')
    await backend.exec('true', T)
    const exec = sandbox.execWithSessionToken.bind(sandbox)
    sandbox.execWithSessionToken = () => {
      sandbox.execWithSessionToken = exec
      const errorResponse = { code: 'INTERNAL_ERROR', context: { phase: 'startup' } }
      engine.kill()
      return Promise.reject(Object.assign(new Error('Container failed to start.'), { errorResponse }))
    }
    expect(await backend.exec('echo x >> runs; cat runs', T)).toMatchObject({ stdout: 'x\n' })
  })

  it('ever is an error, after the object was reset', async () => {
    const { backend, sandbox, world } = open('sdk', { retryMs: 1 })
    sandbox.failingStarts = Number.POSITIVE_INFINITY
    await expect(backend.exec('echo on', T)).rejects.toMatchObject({
      code: 'unavailable',
      message: expect.not.stringContaining('unknown'),
    })
    expect(world.resets).toBeGreaterThan(0)
  }, 30_000)

  it('answers no request any more when its object ends, as none may begin there', async () => {
    const { backend, sandbox, engine } = open('sdk', { retryMs: 1 })
    sandbox.failingStarts = Number.POSITIVE_INFINITY
    await backend.exec('echo on', T).catch(() => undefined)
    sandbox.failingStarts = 0
    await expect(backend.exec('echo x >> runs', T)).rejects.toMatchObject({ code: 'unavailable' })
    expect(engine.starts).toBe(0)
  }, 60_000)

  it('is destroyed when it is silent, and the command runs', async () => {
    const { backend, sandbox, engine } = open('sdk', { silenceMs: 300 })
    sandbox.isSilent = true
    expect((await backend.exec('echo on', T)).stdout).toBe('on\n')
    expect(engine.destroyed).toBe(1)
  })

  it('and stays silent is an error that says so, in bounded time', async () => {
    const { backend, sandbox, engine } = open('sdk', { silenceMs: 50 })
    sandbox.execWithSessionToken = () => new Promise<never>(() => {})
    const since = performance.now()
    await expect(backend.exec('echo on', T)).rejects.toMatchObject({
      code: 'unavailable',
      message: expect.stringContaining('did not end within 0.05 s'),
    })
    expect([engine.destroyed > 0, performance.now() - since < 30_000]).toEqual([true, true])
  }, 40_000)

  itInTurn('whose server has died is saved on another way before it is replaced', async () => {
    const { backend, sandbox, engine, world } = open('sdk')
    await backend.exec('echo never saved > a', T)
    sandbox.isServerDead = true
    world.now += 120_000
    expect(await backend.exec('cat a', T)).toMatchObject({ stdout: 'never saved\n' })
    expect(engine).toMatchObject({ destroyed: 1, starts: 2 })
  })
})

describe('a command whose answer is lost', () => {
  /** Breaks the connection at the next request, before or after the script has run. */
  const breakNext = ({ sandbox }: ReturnType<typeof open>, when: 'before' | 'after') => {
    const exec = sandbox.execWithSessionToken.bind(sandbox)
    sandbox.execWithSessionToken = async (...given) => {
      sandbox.execWithSessionToken = exec
      if (when === 'after') await exec(...given)
      throw Object.assign(new Error('The connection broke.'), { errorResponse: { code: 'RPC_TRANSPORT_ERROR' } })
    }
  }

  it.each(['before', 'after'] as const)('%s it ran runs once, and its result arrives', async (when) => {
    const opened = open('sdk')
    await opened.backend.exec('true', T)
    breakNext(opened, when)
    expect(await opened.backend.exec('echo x >> runs; cat runs; exit 3', T)).toMatchObject({
      stdout: 'x\n',
      exitCode: 3,
    })
    expect((await opened.backend.exec('cat runs', T)).stdout).toBe('x\n')
  })

  it('while it runs is waited for', async () => {
    const opened = open('sdk')
    const { backend, engine, sandbox } = opened
    await backend.exec('true', T)
    const exec = sandbox.execWithSessionToken.bind(sandbox)
    sandbox.execWithSessionToken = async (...given) => {
      sandbox.execWithSessionToken = exec
      exec(...given).catch(() => undefined)
      await until(() => engine.has('workspace/runs'))
      throw Object.assign(new Error('The connection broke.'), { errorResponse: { code: 'RPC_TRANSPORT_ERROR' } })
    }
    expect(await backend.exec('echo x >> runs; sleep 0.5; cat runs', T)).toMatchObject({ stdout: 'x\n' })
  })
})

describe('output of a container', () => {
  itInTurn('is complete although it is cut while something streams out', { timeout: 300_000 }, async () => {
    const { backend, sandbox } = open('sdk')
    await backend.exec(`head -c 300000 /dev/urandom | base64 -w76 | head -c 400000 > big`, T)
    const expected = (await backend.exec('cat big', { ...T, maxOutput: 1e6 })).stdout
    for (let round = 0; round < (isLong ? 50 : 1); round++) {
      const streamed = { isDone: false }
      const streaming = sandbox.stream(() => until(() => streamed.isDone))
      const shown = await Promise.all(
        Array.from({ length: 10 }, () => backend.exec('cat big', { ...T, maxOutput: 1e6 })),
      )
      streamed.isDone = true
      await streaming
      expect(shown.every(({ stdout }) => stdout === expected)).toBe(true)
    }
    expect(sandbox.cuts).toBeGreaterThan(isLong ? 250 : 5)
  })

  it('that never arrives in full is an error', async () => {
    const { backend, sandbox } = open('sdk')
    await backend.exec('true', T)
    sandbox.execWithSessionToken = async () => ({ stdout: '9' })
    await expect(backend.exec('echo lost', T)).rejects.toMatchObject({ code: 'unavailable' })
  })

  it('of a file is read again until it has its size', async () => {
    const { backend, sandbox } = open('sdk')
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

describe('a command in a container', () => {
  it('that is killed is not called timed out', async () => {
    const { backend } = open('sdk')
    const result = await backend.exec('echo before; kill -KILL $$', T)
    expect(result).toMatchObject({ exitCode: 137, timedOut: false, stdout: 'before\n' })
    expect(result.stderr).toContain('was killed before its time limit')
  })

  itInTurn('keeps its output so far when it is stopped', async () => {
    const { backend, engine } = open('sdk')
    await backend.exec('true', T)
    const stop = new AbortController()
    const running = backend.exec('echo first; touch begun; sleep 20', { ...T, signal: stop.signal })
    await until(() => engine.has('workspace/begun'))
    stop.abort()
    expect(await running).toMatchObject({ exitCode: null, timedOut: false, stdout: 'first\n' })
  })

  itInTurn('in the background that is killed by the system has its true code', async () => {
    const { backend, engine } = open('sdk')
    await backend.jobs?.start('j', 'kill -KILL $$', { timeoutMs: 60_000 })
    await jobEnd(engine, 'j')
    expect(await backend.jobs?.state('j')).toMatchObject({ at: 'exited', exitCode: 137 })
  })
})

// host-backend.test.ts tests the same scripts without a container.
describe.each(isLong ? apis : [])('a process that left the group of its command, with the API %s,', (api) => {
  endsEscapes(() => open(api).backend)
})

describe.each(apis)('a full disk, with the API %s,', (api) => {
  const disks = {
    'without space': ['size=4m', 'head -c 50000000 /dev/zero > big'],
    'without place for files': [
      'size=40m,nr_inodes=200',
      'mkdir big; for i in {1..400}; do : > big/$i; done 2>/dev/null',
    ],
  } as const

  itInTurn.for(Object.entries(disks))(
    '%s is told, and can be freed by a command',
    async ([, [disk, fill]], { skip }) => {
      const { backend, engine, box, bucket } = open(api)
      skip(!engine.limitDisk(disk), 'This process may not mount a disk.')
      await backend.exec('echo kept > kept', T)
      const filling = await backend.exec(`${fill}; echo filled; false`, T)
      expect(filling).toMatchObject({ exitCode: 1 })
      for (let turn = 0; turn < 2; turn++) {
        const shown = await backend.exec(`echo on; cat kept; (exit 7)`, T)
        expect(shown).toMatchObject({
          exitCode: 7,
          stdout: 'on\nkept\n',
          stderr: expect.stringContaining('disk of the host is full'),
        })
      }
      await backend.jobs?.kill('none')
      expect((await backend.files.list('.')).map(({ path }) => path).join()).toContain('kept')
      expect(await box.save()).not.toBe('nothing')
      const freed = await backend.exec('rm -rf big; cat kept', T)
      expect(freed).toMatchObject({ exitCode: 0, stdout: 'kept\n' })
      expect(await backend.exec('echo more > more; cat more', T)).toMatchObject({ stdout: 'more\n', stderr: '' })
      expect([await box.save(), bucket.objects.size > 0]).toEqual(['saved', true])
      expect([engine.starts, engine.kills, engine.destroyed]).toEqual([1, 0, 0])
      const own = await backend.exec(`ls -d ${engine.state}/x-* | wc -l`, T)
      expect(own.stdout).toBe('1\n')
    },
  )
})

describe.each(apis)('a file for which there is no space, with the API %s,', (api) => {
  it.for([
    ['small', 15_000],
    ['large', 2_000_000],
  ] as const)('is refused as such, and the one before it stays: %s', async ([, size], { skip }) => {
    const { backend, engine } = open(api)
    skip(!engine.limitDisk('size=5m'), 'This process may not mount a disk.')
    await backend.files.write('a', new TextEncoder().encode('kept'))
    await backend.exec('head -c 50000000 /dev/zero > big; true', T)
    await expect(backend.files.write('a', new Uint8Array(size))).rejects.toMatchObject({ code: 'full' })
    await expect(backend.files.write('b', new Uint8Array(size))).rejects.toMatchObject({ code: 'full' })
    expect(new TextDecoder().decode(await backend.files.read('a'))).toBe('kept')
    await backend.exec('rm big', T)
    expect(await backend.files.write('a', new Uint8Array(size))).toEqual({ created: false })
    expect((await backend.exec('ls -A', T)).stdout).toBe('a\n')
  })
})

describe.each(apis)('a container without space for the files that are restored, with the API %s,', (api) => {
  itInTurn('runs nothing, says so, and keeps the copies until one has space', async ({ skip }) => {
    const { backend, engine, box, world } = open(api)
    await backend.exec('head -c 3000000 /dev/urandom > big; echo one > a', T)
    expect(await box.save()).toBe('saved')
    await backend.exec('echo two > a', T)
    expect(await box.save()).toBe('saved')
    const copies = structuredClone(world.stored)
    engine.kill()
    skip(!engine.limitDisk('size=5m'), 'This process may not mount a disk.')
    for (let turn = 0; turn < 3; turn++) {
      await expect(backend.exec(`echo ${turn} > new`, T)).rejects.toMatchObject({
        code: 'unavailable',
        message: expect.stringMatching(/could not be restored, and nothing runs before. Its copies stay. .*space/),
      })
      expect(await box.save()).toBe('nothing')
    }
    expect(world.stored).toEqual(copies)
    engine.kill()
    expect(await backend.exec('cat a; stat -c %s big; ls', T)).toMatchObject({
      stdout: 'two\n3000000\na\nbig\n',
      stderr: expect.stringContaining('as it was last saved'),
    })
  })
})

describe.each(apis)('a job that fills the disk, with the API %s,', (api) => {
  it('ends with its own code and the reason, and once', async ({ skip }) => {
    const { backend, engine } = open(api)
    skip(!engine.limitDisk('size=4m'), 'This process may not mount a disk.')
    await backend.exec('true', T)
    await backend.jobs?.start('fills', 'sleep 0.3; head -c 50000000 /dev/zero > big; exit 5', { timeoutMs: 60_000 })
    await jobEnd(engine, 'fills')
    expect(await backend.jobs?.state('fills')).toMatchObject({ at: 'exited', exitCode: 5, reason: 'disk' })
    await backend.exec('rm big', T)
    expect(await backend.jobs?.state('fills')).toMatchObject({ at: 'exited', exitCode: 5, reason: 'disk' })
    await backend.jobs?.start('fails', 'exit 5', { timeoutMs: 60_000 })
    await jobEnd(engine, 'fails')
    expect(await backend.jobs?.state('fails')).not.toHaveProperty('reason')
  })
})

describe.each(apis)('saving that fails for long, with the API %s,', (api) => {
  itInTurn('is told with the next command, again and again, until it succeeds', async () => {
    const { backend, box, bucket, world } = open(api)
    await backend.exec('echo kept > a', T)
    await box.save()
    bucket.isDown = true
    await box.save()
    expect((await backend.exec('true', T)).stderr).toBe('')
    for (let turn = 0; turn < 2; turn++) {
      world.now += 11 * 60_000
      const { stderr } = await backend.exec('true', T)
      expect(stderr).toMatch(/has not been saved since 20\d\d-\S+Z, because saving fails/)
      expect((await backend.exec('true', T)).stderr).toBe('')
    }
    bucket.isDown = false
    await box.save()
    world.now += 11 * 60_000
    expect((await backend.exec('true', T)).stderr).toBe('')
  })

  itInTurn('says so when there is no copy', async () => {
    const { backend, box, bucket, world } = open(api)
    bucket.isDown = true
    await backend.exec('true', T)
    await box.save()
    world.now += 11 * 60_000
    expect((await backend.exec('true', T)).stderr).toContain('has never been saved')
  })
})
