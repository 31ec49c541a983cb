/** Tests the copies of a workspace in a bucket, on stand-ins for both container APIs. */

import { afterEach, describe, expect, it } from 'vitest'
import { firstRows, isLong, itInTurn } from '../../support/long.ts'
import { type Api, type Changes, createWorld, openContainer } from './open-container.ts'

const T = { timeoutMs: 30_000 }
const drops: (() => void)[] = []
afterEach(() => drops.splice(0).forEach((drop) => drop()))

function open(api: Api, changes: Changes = {}, world = createWorld()) {
  drops.push(() => world.engine.drop())
  return openContainer(api, world, { retryMs: 20, ...changes })
}

/** The rules are those of the box, so `npm test` tries most with one API. */
const apis = firstRows<Api>(1, ['native', 'sdk'])
const copyCount = ({ bucket }: ReturnType<typeof open>) =>
  new Set([...bucket.objects.keys()].map((key) => key.split('/')[1])).size

describe.each(apis)('a workspace, with the API %s,', (api) => {
  it('comes back byte for byte, with modes, owners, times, links and any name', { timeout: 300_000 }, async () => {
    const { backend, box, engine } = open(api)
    const [count, rounds] = isLong ? [2_000, 10] : [40, 1]
    await backend.exec(
      `for i in {1..${count}}; do echo "$i $RANDOM" > f$i; done; mkdir -m 750 d; mkdir -m 1777 e
      echo x > $'d/new\\nline "quoted" \\' ü'; ln -s ../f1 d/link; ln f2 d/hard; chmod 4711 f3; touch -d '2001-02-03 04:05:06.789' f4 d
      truncate -s 20G holes; echo x >> holes; head -c 5000000 /dev/urandom > big; : > empty; mkfifo pipe; chown 12:34 f5 2>/dev/null; true`,
      T,
    )
    const sum = async () =>
      (
        await backend.exec(
          `find . -printf '%P %y %m %U %G %T@ %n %l\\n' | grep -v '^ ' | LC_ALL=C sort | sha256sum; cat $(ls f* big | sort -V) | sha256sum; stat -c '%s %b' holes; ls | wc -l`,
          T,
        )
      ).stdout
    const before = await sum()
    for (let round = 1; round <= rounds; round++) {
      expect(await box.save()).toBe('saved')
      engine.kill()
      expect(await sum()).toBe(before)
    }
    expect(before).toContain(`\n${count + 6}\n`)
  })

  it('is not saved before it is restored', async () => {
    const { backend, box, engine, world } = open(api)
    await backend.exec('echo kept > a', T)
    await box.save()
    const { stored } = world
    engine.kill()
    expect(await box.save()).toBe('nothing')
    engine.start()
    expect(await box.save()).toBe('nothing')
    expect(world.stored).toEqual(stored)
    expect((await backend.exec('cat a', T)).stdout).toBe('kept\n')
  })

  it('is saved while it is used; two copies are kept, and none when the session is deleted', async () => {
    const opened = open(api)
    const { backend, settle, world, box, bucket } = opened
    for (let turn = 1; turn <= 3; turn++) {
      world.now += 6 * 60_000
      await backend.exec(`echo ${turn} > a`, T)
      await settle()
      expect(copyCount(opened)).toBe(Math.min(turn, 2))
    }
    await box.destroy()
    expect([bucket.objects.size, world.stored]).toEqual([0, { copies: [] }])
  })

  it('is restored from the copy before a damaged one, which is told once', async () => {
    const { backend, box, engine, bucket, world } = open(api)
    await backend.exec('echo older > a', T)
    await box.save()
    const [older = ''] = bucket.objects.keys()
    await backend.exec('echo newer > a', T)
    await box.save()
    for (const [key, bytes] of bucket.objects) if (key !== older) bytes[Math.floor(bytes.length / 2)]! ^= 1
    engine.kill()
    expect(await backend.exec('cat a', T)).toMatchObject({
      stdout: 'older\n',
      stderr: expect.stringContaining('is damaged'),
    })
    expect((await backend.exec('cat a', T)).stderr).toBe('')
    expect([...bucket.objects.keys()]).toEqual([older])
    engine.kill()
    expect((await backend.exec('cat a', T)).stderr).not.toContain('damaged')
    expect(world.errors).toEqual(['workspace.copy_unusable'])
  })

  itInTurn('with a path that no container can create is restored without it, which is told once', async () => {
    const { backend, box, engine } = open(api)
    await backend.exec(
      `echo kept > z; n=$(printf %200s | tr ' ' d); for i in {1..25}; do mkdir $n; cd $n; done; echo x > deep`,
      T,
    )
    expect(await box.save()).toBe('saved')
    engine.kill()
    const first = await backend.exec('cat z', T)
    expect(first.stdout).toBe('kept\n')
    expect(first.stderr).toMatch(
      /\[\d paths of the last copy cannot be created[^\]]*ddd…ddd[^\]]*File name too long\n\]/,
    )
    expect(await backend.exec('cat z', T)).toMatchObject({ stdout: 'kept\n', stderr: '' })
    expect(await box.save()).toBe('saved')
  })

  const damages = [
    ['is missing', (key: string, objects: Map<string, Uint8Array>) => void objects.delete(key)],
    ['is empty', (key: string, objects: Map<string, Uint8Array>) => void objects.set(key, new Uint8Array())],
    [
      'is noise',
      (key: string, objects: Map<string, Uint8Array>) => void objects.set(key, new Uint8Array(5_000).fill(7)),
    ],
  ] as const
  itInTurn.each(firstRows(1, damages.toReversed()))(
    'whose only copy %s is empty and usable, which is told once',
    async (_, spoil) => {
      const { backend, box, engine, bucket, world } = open(api)
      await backend.exec('echo kept > a', T)
      await box.save()
      for (const key of bucket.objects.keys()) spoil(key, bucket.objects)
      engine.kill()
      expect(await backend.exec('ls; echo on', T)).toMatchObject({
        stdout: 'on\n',
        stderr: expect.stringContaining('lost'),
      })
      expect(await backend.exec('echo on', T)).toMatchObject({ stdout: 'on\n', stderr: '' })
      expect([world.stored, bucket.objects.size]).toEqual([{ copies: [] }, 0])
    },
  )

  itInTurn('is restored from the copy before one whose content breaks off each time', async () => {
    const { backend, box, engine, bucket } = open(api)
    await backend.exec('echo older > a', T)
    await box.save()
    const [older = ''] = bucket.objects.keys()
    await backend.exec('echo newer > a', T)
    await box.save()
    for (const key of bucket.objects.keys()) if (key !== older) bucket.broken.add(key)
    engine.kill()
    expect(await backend.exec('cat a', T)).toMatchObject({
      stdout: 'older\n',
      stderr: expect.stringContaining('is damaged'),
    })
    bucket.broken.add(older)
    engine.kill()
    expect((await backend.exec('echo on', T)).stderr).toContain('lost')
    expect(await backend.exec('echo on', T)).toMatchObject({ stdout: 'on\n', stderr: '' })
    expect(bucket.objects.size).toBe(0)
  })

  itInTurn('waits for a bucket of which all contents break off, and keeps its copies', async () => {
    const { backend, box, engine, bucket } = open(api)
    await backend.exec('echo kept > a', T)
    await box.save()
    engine.kill()
    bucket.areAllBroken = true
    await expect(backend.exec('cat a', T)).rejects.toMatchObject({ code: 'unavailable' })
    bucket.areAllBroken = false
    expect((await backend.exec('cat a', T)).stdout).toBe('kept\n')
  })

  itInTurn('waits for a bucket that is down, and keeps its copies', async () => {
    const { backend, box, engine, bucket } = open(api)
    await backend.exec('echo kept > a', T)
    await box.save()
    engine.kill()
    bucket.isDown = true
    await expect(backend.exec('cat a', T)).rejects.toMatchObject({ code: 'unavailable' })
    bucket.isDown = false
    expect((await backend.exec('cat a', T)).stdout).toBe('kept\n')
  })

  itInTurn('that is killed during its restore is restored again', async () => {
    const { backend, box, engine, bucket } = open(api)
    await backend.exec('for i in {1..50}; do echo $i > f$i; done', T)
    await box.save()
    engine.kill()
    const real = bucket as unknown as { get: (...given: unknown[]) => Promise<unknown> }
    const get = real.get.bind(bucket)
    let reads = 0
    real.get = async (...given) => {
      if (++reads === 1) engine.kill()
      return get(...given)
    }
    await backend.exec('true', T).catch(() => undefined)
    expect((await backend.exec('ls | wc -l', T)).stdout).toBe('50\n')
  })

  itInTurn('that is killed during an upload is restored from it when it has ended', async () => {
    const { backend, box, engine, bucket } = open(api)
    await backend.exec('echo older > a', T)
    await box.save()
    await backend.exec('echo newer > a', T)
    const real = bucket as unknown as { put: (key: string, bytes: Uint8Array) => Promise<void> }
    const put = real.put.bind(bucket)
    let shown: Promise<{ readonly stdout: string }> | undefined
    real.put = async (key, bytes) => {
      engine.kill()
      shown = backend.exec('cat a', T)
      await new Promise((resolve) => setTimeout(resolve, 300))
      return put(key, bytes)
    }
    expect(await box.save()).toBe('saved')
    expect((await shown)?.stdout).toBe('newer\n')
  })

  itInTurn('is saved again after a copy that hung, whose time is bounded', async () => {
    const { backend, box, bucket, world } = open(api, { timeoutMs: 1_000 })
    await backend.exec('echo kept > a', T)
    bucket.isStuck = true
    expect(await box.save()).toBe('failed')
    expect(world.stored ?? { copies: [] }).toMatchObject({ copies: [] })
    bucket.isStuck = false
    const opened = openContainer(api, world, { retryMs: 20 })
    expect(await opened.box.save()).toBe('saved')
    expect(copyCount(opened)).toBe(1)
  })

  itInTurn('keeps the folders of the SDK when it is cleared', async () => {
    const { backend, engine } = open(api)
    const [own, theirs] = [`${engine.temporary}/of-a-user`, `${engine.temporary}/session-test-1234567890123`]
    await backend.exec(`mkdir -p ${own} ${theirs}`, T)
    const paths = (await backend.tree()).map(({ path }) => path)
    expect([own, theirs].map((path) => paths.includes(path))).toEqual([true, false])
    await backend.clear()
    expect((await backend.exec(`ls ${engine.temporary}`, T)).stdout).toBe('session-test-1234567890123\n')
  })
})

describe('a change of the API', () => {
  it.each([
    ['sdk', 'native'],
    ['native', 'sdk'],
  ] as const)('from %s to %s keeps the files of a session', async (from, to) => {
    const first = open(from)
    await first.backend.exec('mkdir -m 700 d; echo kept > d/a', T)
    await first.box.save()
    first.engine.kill()
    const second = open(to, {}, first.world)
    expect((await second.backend.exec('stat -c %a d; cat d/a', T)).stdout).toBe('700\nkept\n')
  })

  itInTurn.each(firstRows<Api>(1, ['native', 'sdk']))(
    'restores a copy that an earlier version made with the SDK, with the API %s',
    async (api) => {
      const { backend, engine, bucket, world } = open(api)
      await backend.exec('true', T)
      engine.kill()
      // unsquashfs is a program of the image: this one writes what it is given.
      bucket.objects.set('backups/old/data.sqsh', new TextEncoder().encode(`${'x'.repeat(5_000_000)}of the sdk`))
      bucket.objects.set('backups/old/meta.json', new TextEncoder().encode('{}'))
      world.stored = { id: 'old', dir: '/workspace' }
      const spawn = engine.spawn.bind(engine)
      engine.spawn = (command, options) => {
        const define = `unsquashfs() { while [ "$1" != -d ]; do shift; done; tail -c 10 "$3" > "$2/a"; }\n`
        const at = command.indexOf('-c') + 1
        return spawn(command.with(at, `${define}${command[at]}`), options)
      }
      expect(await backend.exec('cat a', T)).toMatchObject({
        stdout: 'of the sdk',
        stderr: expect.stringContaining('last saved'),
      })
    },
  )
})

describe.each(apis)('sleep, with the API %s,', (api) => {
  const idle = 11 * 60_000

  it('comes after idle time, when the files are saved', async () => {
    const { backend, box, engine, world } = open(api)
    await backend.exec('echo kept > a', T)
    expect(await box.rest()).toBe('awake')
    world.now += idle
    expect(await box.rest()).toBe('asleep')
    await box.stop()
    expect(await box.rest()).toBe('asleep')
    expect(engine.running).toBe(false)
    expect((await backend.exec('cat a', T)).stdout).toBe('kept\n')
  })

  it('does not come while a job or a command runs', async () => {
    const { backend, box, world } = open(api)
    await backend.jobs?.start('j', 'sleep 60', { timeoutMs: 600_000 })
    world.now += idle
    expect([await box.rest(), await box.rest(true)]).toEqual(['awake', 'awake'])
    await backend.jobs?.kill('j')
    world.now += idle
    const running = backend.exec('touch begun; sleep 1', T)
    while (!(await backend.files.stat('begun'))) await new Promise((resolve) => setTimeout(resolve, 20))
    world.now += idle
    expect(await box.rest(true)).toBe('awake')
    await running
  })

  itInTurn('does not come for an hour while the files cannot be saved', async () => {
    const { backend, box, bucket, world } = open(api)
    await backend.exec('echo kept > a', T)
    bucket.isDown = true
    for (const minutes of [11, 25, 22]) {
      world.now += minutes * 60_000
      expect(await box.rest(true)).toBe('awake')
    }
    world.now += 30 * 60_000
    expect(await box.rest(true)).toBe('asleep')
  })

  itInTurn('is decided after removing the output of ended scripts, which ended objects have left', async () => {
    const { backend, box, engine } = open(api)
    const at = `${engine.state}/o-`
    const leave = `for i in 1 2 3; do mkdir ${at}ended$i; touch ${at}ended$i/code; done; mkdir ${at}running ${at}memory`
    const link = `mv ${at}memory ${engine.state}/m; touch ${engine.state}/m/code; ln -s ${engine.state}/m ${at}memory`
    const age = `touch -h -d '20 minutes ago' ${at}ended* ${at}running ${at}memory; mkdir ${at}new; touch ${at}new/code`
    await backend.exec(`${leave}; ${link}; ${age}`, T)
    await box.rest(false)
    const { stdout } = await backend.exec(`cd ${engine.state}; ls -d m o-[emnr]* | grep -v -- '-.*-'`, T)
    expect(stdout).toBe('o-new\no-running\n')
  })

  itInTurn('is preceded by a copy a minute after the last command, which is made once', async () => {
    const opened = open(api)
    const { backend, box, world } = opened
    await backend.exec('echo kept > a', T)
    world.now += 61_000
    await box.rest()
    const { stored } = world
    expect(copyCount(opened)).toBe(1)
    await box.rest()
    expect(world.stored).toEqual(stored)
  })

  itInTurn('comes after the same times when the object does not stay in memory, with one copy', async () => {
    const opened = open(api)
    const { backend, world } = opened
    await backend.exec('echo kept > a', T)
    const rest = (minutes: number) => {
      world.now += minutes * 60_000
      return openContainer(api, world, { retryMs: 20 }).box.rest()
    }
    expect([await rest(0.5), copyCount(opened)]).toEqual(['awake', 0])
    expect([await rest(1.1), copyCount(opened)]).toEqual(['awake', 1])
    const { stored } = world
    expect([await rest(5), world.stored]).toEqual(['awake', stored])
    const later = openContainer(api, world, { retryMs: 20 })
    await later.backend.exec('true', T)
    expect([await rest(0.5), await rest(5)]).toEqual(['awake', 'awake'])
    expect(await rest(5)).toBe('asleep')
  })

  itInTurn('is waited for by a command that comes meanwhile', async () => {
    const { backend, box } = open(api)
    await backend.exec('echo kept > a', T)
    await box.save()
    const stopping = box.stop()
    expect((await backend.exec('cat a', T)).stdout).toBe('kept\n')
    await stopping
  })
})
