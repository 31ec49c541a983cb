/** Opens a workspace on each kind of host that runs our scripts: a local one, and containers with both APIs. */

import { afterEach } from 'vitest'
import type { ExecutionBackend } from '#agent/core/backend.ts'
import { hostBackend } from '#backends/host/host-backend.ts'
import type { HostRecord } from '#backends/host/host-port.ts'
import { stateBeside } from '#backends/host/scripts.ts'
import { openContainer } from '../cloudflare/open-container.ts'
import { createLocalHost } from './local-host.mjs'

export type OpenedHost = {
  readonly backend: ExecutionBackend
  readonly root: string
  /** The folder of our records. */
  readonly state: string
  readonly temporary: string
  /** Makes a copy, where the host has copies. */
  readonly save: () => Promise<unknown>
}

const drops: (() => void)[] = []
afterEach(() => drops.splice(0).forEach((drop) => drop()))

function openLocal(): OpenedHost {
  const host = createLocalHost()
  drops.push(host.drop)
  let record: HostRecord = {}
  const backend = hostBackend({
    ...host,
    kind: 'daytona',
    network: 'full',
    languages: ['bash'],
    describe: 'A local host for tests.',
    memory: { read: () => record, write: (next) => void (record = next) },
  })
  const { root, state = stateBeside(root), temporary } = host
  return { backend, root, state, temporary, save: async () => undefined }
}

function openBox(api: 'sdk' | 'native'): OpenedHost {
  const { backend, engine, box } = openContainer(api, undefined, { retryMs: 20 })
  drops.push(() => engine.drop())
  const { root, temporary } = engine
  return { backend, root, state: stateBeside(root), temporary, save: () => box.save() }
}

export const scriptHosts: readonly (readonly [name: string, open: () => OpenedHost])[] = [
  ['a script host', openLocal],
  ['the SDK', () => openBox('sdk')],
  ['the native API', () => openBox('native')],
]
