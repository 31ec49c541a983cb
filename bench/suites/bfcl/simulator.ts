/** Talks to the simulators of BFCL. */

import { join } from 'node:path'
import { startPython } from '../python-process.ts'

export type SimulatedCall = { readonly name: string; readonly input: Readonly<Record<string, unknown>> }

/** `folder` contains the package `bfcl_eval`. */
export function startSimulator(folder: string) {
  const { ask, close } = startPython(join(import.meta.dirname, 'simulate.py'), folder)
  return {
    open: (lane: string, classes: readonly string[], config: object, isLong: boolean) =>
      ask<true>({ do: 'open', lane, classes, config, isLong }),
    call: (lane: string, { name, input }: SimulatedCall) => ask<string>({ do: 'call', lane, name, input }),
    parse: (lane: string, text: string) => ask<SimulatedCall>({ do: 'parse', lane, text }),
    state: async (lane: string) => JSON.stringify(await ask<unknown>({ do: 'state', lane })),
    close,
  }
}
