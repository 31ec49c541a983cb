/** Tests `npm run dev:sandbox` with a container engine that is played: its containers are real processes. */

import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { canPlay, playDocker } from '../../scripts/support/played-docker.mjs'
import { createClient } from '../support/client.ts'
import { deleteState, newState, type Server, startServer } from '../support/server.ts'

/** A stop saves the workspaces first. */
const stopMs = 60_000

describe.skipIf(!canPlay)('npm run dev:sandbox', { timeout: 600_000 }, () => {
  const drops: (() => unknown)[] = []
  afterEach(async () => {
    for (const drop of drops.splice(0).toReversed()) await drop()
  })

  async function open() {
    const docker = await playDocker()
    drops.push(docker.close)
    const start = async (state: string) => {
      const env = { ...docker.env, SANDBOX_CONTAINER_API: 'native' }
      const server = await startServer({ script: 'dev:sandbox', state, env })
      drops.push(() => server.stop(stopMs))
      return server
    }
    const [state, otherState] = [newState(), newState()]
    drops.push(() => [state, otherState].forEach(deleteState))
    const containers = () => [...docker.containers.keys()].filter((name) => !name.endsWith('-proxy'))
    /** The container that has a file in its workspace. */
    const withFile = (file: string) =>
      containers().find((name) => existsSync(join(docker.folderOf(name), 'workspace', file))) ?? ''
    return { docker, start, state, otherState, containers, withFile }
  }
  const run = async ({ url, key }: Server, session: string, command: string) =>
    (await createClient(url, key).chat(session, `run: ${command}`)).text

  it('builds and runs on DOCKER_HOST, and keeps files when a network or the server ends, beside another server', async () => {
    const { docker, start, state, otherState, containers, withFile } = await open()
    const server = await start(state)
    const other = await start(otherState)
    const session = await createClient(server.url, server.key).newSession()
    expect(await run(server, session, 'echo one > mine; cat mine')).toMatch(/exit_code\\+":0/)
    const otherSession = await createClient(other.url, other.key).newSession()
    expect(await run(other, otherSession, 'echo x > theirs; cat theirs')).toContain('x')
    const builds = docker.log().filter((line) => / build /.test(line))
    expect(builds.every((line) => line.startsWith(`client ${docker.env['DOCKER_HOST']} `))).toBe(true)
    expect(new Set(builds.map((line) => /TALARIA_SERVER=\w+/.exec(line)?.[0])).size).toBe(2)

    docker.end(`${withFile('mine')}-proxy`)
    await server.printed('had lost its network and was removed; its workspace', 60_000)
    // An object that has ended meanwhile cannot save: then the files are on this machine.
    const copy = /could not be saved and is in (\S+)/.exec(server.log())?.[1]
    expect(copy ? readFileSync(join(copy, 'workspace/mine'), 'utf8') : 'one\n').toBe('one\n')
    const restored = copy ? 'cat mine; echo one > mine' : 'cat mine'
    expect(await run(server, session, `${restored}; echo two >> mine`)).toMatch(
      copy ? /are lost/ : /one[\s\S]*last saved/,
    )

    docker.end(withFile('mine'))
    expect(await run(server, session, 'echo one > mine')).toContain('exit_code')

    expect(await run(server, session, 'echo three >> mine; tail -n 1 mine')).toContain('three')
    const paused = withFile('mine')
    docker.pause(paused)
    const waiting = run(server, session, 'tail -n 1 mine')
    setTimeout(() => docker.unpause(paused), 3_000)
    expect(await waiting).toContain('three')
    await other.stop(stopMs)
    expect([containers().length, withFile('mine') !== '', withFile('theirs')]).toEqual([1, true, ''])
    await server.stop(stopMs)
    expect(containers()).toEqual([])
    for (const { log } of [server, other]) expect(log()).toContain('saved the workspaces of 1 containers')

    const again = await start(state)
    expect(await run(again, session, 'cat mine')).toMatch(/one\S*three[\s\S]*last saved/)
  })
})
