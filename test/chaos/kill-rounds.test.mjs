/**
 * Works in a container and disturbs it at random moments: its end, noticed by the platform or not, the engine's pause, the
 * end of the SDK's server in it, and the end of the object (workerd), each with saves in between. Nothing may be older than
 * the last finished command unless it was told, nothing may happen twice, and no container that answers is destroyed.
 * `ROUNDS` and `SEED` set number and moments. With `TALARIA_ENGINE=1` the native API runs on a real container engine.
 */

import { setTimeout as delay } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { DockerEngine, findImage } from '../backends/cloudflare/docker-engine.mjs'
import { createWorld, openContainer } from '../backends/cloudflare/open-container.ts'
import { createRandom } from './world.mjs'

const rounds = Number(process.env['ROUNDS'] ?? 20)
const seed = Number(process.env['SEED'] ?? Date.now() % 1_000_000)
const isReal = process.env['TALARIA_ENGINE'] === '1'
const longestMs = 1_200
const silenceMs = 20_000
/** Notes after which files may be older. */
const lossPattern = /as it was last saved|as it was saved before|Files are lost/

const disturbances = {
  'kill of the container': ({ engine }) => engine.kill(),
  'kill that the platform notices later': ({ engine }) => engine.kill({ isNoticed: false }),
  'pause of the engine': async ({ engine }, dice) => {
    engine.pause()
    await delay(100 + dice() * 1_500)
    engine.unpause()
  },
  'end of the server in the container': ({ sandbox, engine }, _, api) =>
    api === 'sdk' ? void (sandbox.isServerDead = true) : engine.kill(),
  'end of the object': (opened) => opened.reopen(),
  'end of the object and the container': ({ engine, reopen }) => {
    engine.kill()
    reopen()
  },
}

function open(api) {
  const world = createWorld(isReal ? new DockerEngine(findImage()) : undefined)
  const changes = { silenceMs, retryMs: 50 }
  const opened = {
    engine: world.engine,
    world,
    reopen: () => Object.assign(opened, openContainer(api, world, changes)),
  }
  return opened.reopen()
}

/** Runs numbered commands until the round is over. Returns those that finished and those whose outcome is unknown. */
async function work(opened, history, isOver) {
  while (!isOver()) {
    const n = ++history.last
    const command = `echo ${n} >> log; sleep 0.0${n % 10}; echo ${n} > last`
    try {
      const { exitCode, stderr } = await opened.backend.exec(command, { timeoutMs: 20_000 })
      noteLoss(history, stderr)
      if (exitCode === 0) history.finished.push(n)
      else history.unknown.add(n)
    } catch (error) {
      if (!/unknown/.test(error.message)) throw error
      history.unknown.add(n)
    }
  }
}

/** Work that finished before the copy stays, the rest may be gone. */
function noteLoss(history, stderr) {
  if (!lossPattern.test(stderr)) return
  history.losses++
  history.isUncertain = false
  for (const n of history.finished.filter((each) => each > history.saved)) history.lost.add(n)
}

async function saveSometimes(opened, history, { dice, isOver }) {
  while (!isOver()) {
    await delay(50 + dice() * 400)
    const before = history.finished.at(-1) ?? 0
    if (isOver() || history.isUncertain) continue
    // A copy of a workspace that was restored meanwhile does not have what was finished before.
    const isSaved = (await opened.box.save()) === 'saved'
    if (isSaved && !history.isUncertain) history.saved = Math.max(history.saved, before)
  }
}

async function readLog({ backend }, history) {
  const read = () => backend.exec('cat log 2>/dev/null; true', { timeoutMs: 20_000 })
  // The end of the container may be noticed with this command. Its notes come with the one that runs.
  const { stdout, stderr } = await read().catch(read)
  noteLoss(history, stderr)
  return stdout.split('\n').filter(Boolean).map(Number)
}

function findProblems(log, { finished, lost, unknown, last }) {
  const seen = new Set(log)
  return [
    ...log.filter((n, at) => log.indexOf(n) !== at).map((n) => `${n} happened twice`),
    ...finished.filter((n) => !seen.has(n) && !lost.has(n)).map((n) => `${n} is lost, which was not told`),
    ...log.filter((n) => n > last || (!finished.includes(n) && !unknown.has(n))).map((n) => `${n} was never finished`),
  ]
}

describe.each(isReal ? ['native'] : ['sdk', 'native'])('with the API %s', (api) => {
  it(`${rounds} rounds of work and kills lose nothing without telling`, { timeout: rounds * 60_000 }, async () => {
    const dice = createRandom(seed)
    const opened = open(api)
    const history = {
      last: 0,
      finished: [],
      unknown: new Set(),
      lost: new Set(),
      saved: 0,
      losses: 0,
      isUncertain: false,
    }
    const kinds = Object.entries(disturbances)
    try {
      for (let round = 0; round < rounds; round++) {
        const [kind, disturb] = kinds[Math.floor(dice() * kinds.length)]
        let over = false
        const isOver = () => over
        const working = work(opened, history, isOver)
        const saving = saveSometimes(opened, history, { dice, isOver })
        await delay(dice() * longestMs)
        const { destroyed } = opened.engine
        history.isUncertain = true
        await disturb(opened, dice, api)
        await delay(dice() * longestMs)
        over = true
        await Promise.all([working, saving])
        const log = await readLog(opened, history)
        history.isUncertain = false
        expect({ round, kind, problems: findProblems(log, history) }).toEqual({ round, kind, problems: [] })
        const allowed = kind === 'end of the server in the container' ? 1 : 0
        expect([kind, opened.engine.destroyed - destroyed <= allowed]).toEqual([kind, true])
        opened.sandbox.isServerDead = false
      }
    } catch (error) {
      throw new Error(`seed ${seed}: ${error.message}`, { cause: error })
    } finally {
      opened.engine.drop()
    }
    console.log(
      `kill rounds: ${api}, seed ${seed}, ${rounds} rounds, ${history.finished.length} commands finished, ` +
        `${history.unknown.size} unknown, ${history.losses} losses told, ${history.lost.size} commands in them`,
    )
  })
})
