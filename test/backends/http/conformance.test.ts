import { afterAll, beforeAll, describe } from 'vitest'
import { httpBackend } from '#backends/http/http.ts'
import { hasBubblewrap } from '../../sandbox/bubblewrap.mjs'
import { newWorkspace, type SandboxServer, startSandbox, token } from '../../sandbox/server.mjs'
import { conforms } from '../conformance.ts'
import { keepsShellStates } from '../host/shell-states.ts'

describe.skipIf(!hasBubblewrap)('the http backend against the reference server (needs bubblewrap)', () => {
  let server: SandboxServer
  let backend: ReturnType<typeof httpBackend>
  beforeAll(async () => {
    server = await startSandbox()
    backend = httpBackend({ url: server.url, token, workspace: newWorkspace() })
  })
  afterAll(() => server.stop())

  conforms('http', (work) => work(backend), 'turns')
  keepsShellStates((work) => work(backend))
})
