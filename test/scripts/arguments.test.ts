/** Tests the arguments of `npm start`. */

import { describe, expect, it } from 'vitest'
import { readArguments } from '../../scripts/lib/arguments.mjs'

describe('arguments of npm start', () => {
  it('have defaults', () => {
    expect(readArguments([])).toMatchObject({ port: 8787, host: 'localhost', persistTo: '.wrangler/state', rest: [] })
  })

  it.each([
    [['--port', '9000'], { port: 9000 }],
    [['--port=9000'], { port: 9000 }],
    [['--persist-to', 'x y', '--quiet-key'], { persistTo: 'x y', quietKey: true }],
    [['--host', '0.0.0.0'], { host: '0.0.0.0' }],
    [['--ip=::'], { host: '::' }],
    [['--test-scheduled', '--var', 'A:b', '--port', '1'], { port: 1, rest: ['--test-scheduled', '--var', 'A:b'] }],
  ])('%j', (list, options) => {
    expect(readArguments(list)).toMatchObject(options)
  })

  it.each([
    [['--port', 'http'], '"http"'],
    [['--port', '70000'], '"70000"'],
    [['--port'], '--port needs a value'],
    [['--persist-to', '--quiet-key'], '--persist-to needs a value'],
    [['9000'], '9000? Options stand behind two dashes. Write: npm start -- --port 9000'],
    [['--quiet-key', 'data'], 'Write: npm start -- --persist-to data'],
  ])('%j is refused', (list, message) => {
    expect(() => readArguments(list)).toThrow(message)
  })
})
