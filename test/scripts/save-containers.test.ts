/** Tests what the local server does with its containers, with a client of an engine that is played by a script. */

import { afterEach, describe, expect, it } from 'vitest'
import { playEngine } from './support/played-engine.mjs'

const ids = ['a', 'b', 'c'].map((letter) => letter.repeat(64)) as [string, string, string]
const nameOf = (id: string) => `workerd-talaria-SandboxBox-${id}`
const drops: (() => unknown)[] = []
afterEach(async () => {
  for (const drop of drops.splice(0)) await drop()
})

async function open(containers: { name: string; server?: string }[]) {
  const played = await playEngine(containers)
  drops.push(played.close)
  return played
}

const withNetwork = (id: string, server: string) => [{ name: nameOf(id), server }, { name: `${nameOf(id)}-proxy` }]

describe('the containers of a local server', () => {
  it('are saved before it stops, and those of another server are not touched', async () => {
    const engine = await open([...withNetwork(ids[0], 'mine'), ...withNetwork(ids[1], 'other')])
    expect(await engine.saveContainers()).toEqual({ [ids[0]]: 'saved' })
    expect(engine.requests).toEqual([`POST /sandboxes/save?id=${ids[0]} Bearer the key`])
    expect(engine.removed()).toEqual([])
  })

  it('are not asked for when there are none', async () => {
    const engine = await open(withNetwork(ids[1], 'other'))
    expect([await engine.saveContainers(), engine.requests]).toEqual([{}, []])
  })

  it('that have lost their network are saved and removed, so that the next command starts another one', async () => {
    const engine = await open([
      { name: nameOf(ids[0]), server: 'mine' },
      ...withNetwork(ids[1], 'mine'),
      { name: nameOf(ids[2]), server: 'other' },
    ])
    expect(await engine.replaceCutOff()).toEqual([{ name: nameOf(ids[0]) }])
    expect(engine.copied()).toEqual([])
    expect(engine.requests).toEqual([`POST /sandboxes/save?id=${ids[0]} Bearer the key`])
    expect(engine.removed()).toEqual([nameOf(ids[0]), `${nameOf(ids[0])}-proxy`])
  })

  it('that are connected stay', async () => {
    const engine = await open(withNetwork(ids[0], 'mine'))
    expect([await engine.replaceCutOff(), engine.requests, engine.removed()]).toEqual([[], [], []])
  })

  it('that their objects cannot save are copied before they are removed', async () => {
    const engine = await open([{ name: nameOf(ids[0]), server: 'mine' }])
    engine.outcome = 'failed: The container has no network.'
    const [replaced] = await engine.replaceCutOff()
    expect(replaced).toEqual({ name: nameOf(ids[0]), copy: expect.stringContaining(`/unsaved/${nameOf(ids[0])}-`) })
    expect(engine.copied()).toEqual([`${nameOf(ids[0])}:/workspace`])
    expect(engine.removed()).toContain(nameOf(ids[0]))
  })

  it('that cannot be saved are an error, and stay', async () => {
    const engine = await open([{ name: nameOf(ids[0]), server: 'mine' }])
    engine.status = 500
    await expect(engine.replaceCutOff()).rejects.toThrow('answered 500')
    expect(engine.removed()).toEqual([])
  })
})
