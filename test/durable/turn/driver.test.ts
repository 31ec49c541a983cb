import { expect, it, vi } from 'vitest'
import type { Machine } from '#agent/loop/drive.ts'
import { type Commit, isOver, newTurn, type Turn } from '#agent/core/turn.ts'
import { Driver } from '#durable/turn/driver.ts'
import type { SessionStore } from '#durable/storage/store.ts'

const memoryStore = () => {
  let turn: Turn = newTurn('run_1', 0, 90)
  const written: Commit[] = []
  const store = {
    get hasOpenTurn() {
      return !isOver(turn)
    },
    current: () => turn,
    turn: () => turn,
    save: (commit: Commit) => {
      turn = commit.turn
      written.push(commit)
    },
    write: () => {},
  }
  return { store: store as unknown as SessionStore, written, turn: () => turn }
}

const never = () => {
  throw new Error('This is not needed here.')
}

it('ends a turn with an explanation when every operation of the machine fails', async () => {
  const logged = vi.spyOn(console, 'error').mockImplementation(() => {})
  const { store, written, turn } = memoryStore()
  const broken = () => {
    throw new Error('a defect')
  }
  const machine: Machine = { store, perform: broken, view: broken }
  const stops: (number | undefined)[] = []
  const driver = new Driver({
    store: () => store,
    machine,
    openNext: () => false,
    abandon: never,
    resetObject: never,
    onStop: (at) => stops.push(at),
  })
  await driver.start()
  expect(turn().stage).toMatchObject({ at: 'done', outcome: 'failed' })
  expect(written.at(-1)?.append?.at(-1)).toMatchObject({ role: 'assistant', source: 'notice' })
  expect({ stops, isDriving: driver.isDriving }).toEqual({ stops: [undefined], isDriving: false })
  logged.mockRestore()
})

it('resets the object when the end of the turn cannot be written', async () => {
  const logged = vi.spyOn(console, 'error').mockImplementation(() => {})
  const { store } = memoryStore()
  const full = () => {
    throw new Error('string or blob too big')
  }
  const machine: Machine = { store, perform: full, view: full }
  const resets: string[] = []
  const driver = new Driver({
    store: () => ({ ...store, hasOpenTurn: true, write: full }) as unknown as SessionStore,
    machine,
    openNext: never,
    abandon: full,
    resetObject: (reason) => resets.push(reason),
    onStop: never,
  })
  await expect(driver.start()).rejects.toThrow('too big')
  expect({ resets, isDriving: driver.isDriving }).toEqual({
    resets: ['The session cannot be written.'],
    isDriving: false,
  })
  logged.mockRestore()
})
