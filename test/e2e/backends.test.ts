/** Tests the http backend, and its processes, with a real server and a real sandbox server. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { itInTurn } from '#test/support/long.ts'
import { hasBubblewrap } from '../sandbox/bubblewrap.mjs'
import { type SandboxServer, startSandbox } from '../sandbox/server.mjs'
import { createClient } from './support/client.ts'
import { type Equipped, useEquipped } from './support/equipped.ts'

describe.skipIf(!hasBubblewrap)('the http backend behind a session (needs bubblewrap)', () => {
  let sandbox: SandboxServer
  let server: Equipped
  beforeAll(async () => {
    server = await useEquipped()
    sandbox = await startSandbox({ args: ['--port', String(server.ports.sandbox)] })
  })
  afterAll(() => sandbox.stop())
  /** The demo model runs what it is told to. */
  const demo = { model: 'demo/agent' }

  it('runs commands, moves files in both directions, and leaves nothing behind', async () => {
    const owner = createClient(server.url, server.key)
    expect((await owner.get('/health/detailed')).json.backends.http).toContain('bubblewrap')
    const session = await owner.newSession(demo)
    const file = (name: string) => `/api/sessions/${session}/files/${name}`
    await owner.send('PUT', file('note.txt'), { raw: 'from here' })
    const use = (backend: string) =>
      owner.send('PATCH', `/api/sessions/${session}`, { body: { settings: { terminal: { backend } } } })
    expect((await use('http')).status).toBe(200)
    const run = await owner.chat(session, 'run: cat note.txt; hostname; echo there > made.txt')
    expect(run.json.output).toContain('from here')
    expect(run.json.output).toContain('sandbox')
    expect((await owner.get(file('made.txt'))).text).toBe('there\n')
    await use('virtual')
    expect((await owner.get(file('made.txt'))).text).toBe('there\n')
    expect((await owner.send('DELETE', `/api/sessions/${session}`)).status).toBeLessThan(300)
  })

  it('rolls back to the files before a turn, except those that a person changed', async () => {
    const owner = createClient(server.url, server.key)
    const session = await owner.newSession({ ...demo, settings: { terminal: { backend: 'http' } } })
    const file = (name: string) => `/api/sessions/${session}/files/${name}`
    await owner.chat(session, 'run: echo first > a.txt; echo first > b.txt')
    await owner.chat(session, 'run: cat a.txt')
    await owner.chat(session, 'run: echo second > a.txt; rm b.txt; mkdir d; echo new > d/c.txt')
    await owner.send('PUT', file('note.txt'), { raw: 'mine' })
    const { json } = await owner.get(`/api/sessions/${session}/checkpoints`)
    expect(json.data.map(({ n, files }: { n: number; files: string[] }) => [n, files])).toEqual([
      [1, ['a.txt', 'b.txt', 'd/c.txt']],
      [2, ['a.txt', 'b.txt']],
    ])
    const diff = await owner.get(`/api/sessions/${session}/checkpoints/1/diff`)
    expect(diff.json.diff).toContain('-first\n+second\n')
    const back = await owner.send('POST', `/api/sessions/${session}/rollback`, { body: {} })
    expect(back.json).toMatchObject({ restored: ['a.txt', 'b.txt', 'd/c.txt'], kept: ['note.txt'], undone: 1 })
    const texts = await Promise.all(
      ['a.txt', 'b.txt', 'note.txt'].map(async (name) => (await owner.get(file(name))).text),
    )
    expect(texts).toEqual(['first\n', 'first\n', 'mine'])
    expect((await owner.get(file('d/c.txt'))).status).toBe(404)
  })

  itInTurn('gives a fork its own copy of the files', async () => {
    const owner = createClient(server.url, server.key)
    const session = await owner.newSession({ ...demo, settings: { terminal: { backend: 'http' } } })
    await owner.chat(session, 'run: echo first > a.txt')
    const fork = await owner.post(`/api/sessions/${session}/fork`)
    await owner.chat(session, 'run: echo second > a.txt')
    expect((await owner.get(`/api/sessions/${fork.json.id}/files/a.txt`)).text).toBe('first\n')
    expect((await owner.get(`/api/sessions/${session}/files/a.txt`)).text).toBe('second\n')
  })

  itInTurn(
    'runs MCP servers that are programs, with their variables and what settings grant alone',
    async () => {
      const owner = createClient(server.url, server.key)
      const answer = (result: string) => `printf '{"jsonrpc":"2.0","id":%s,"result":${result}}\\n' "$id"`
      const script = `while IFS= read -r line; do
      id=$(sed -n 's/.*"id":\\([0-9]*\\).*/\\1/p' <<< "$line")
      case $line in
        *'"initialize"'*) ${answer('{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"sh","version":"1"}}')};;
        *'"tools/list"'*) ${answer('{"tools":[{"name":"look","inputSchema":{"type":"object"}},{"name":"crash","inputSchema":{"type":"object"}}]}')};;
        *'"crash"'*) echo 'out of paper' >&2; exit 3;;
        *'"tools/call"'*) text="$GREETING $(pwd) \${SANDBOX_HTTP_TOKEN:-nothing}"
          printf '{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"%s"}]}}\\n' "$id" "$text";;
        *) [ -z "$id" ] || printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no"}}\\n' "$id";;
      esac
    done`
      await owner.post('/api/secrets', { name: 'WORD', value: 'guten-tag-secret' })
      const row = {
        alias: 'sh',
        transport: 'stdio',
        command: 'bash',
        args: ['-c', script],
        env: { GREETING: '${WORD}!' },
      }
      const weak = await owner.post('/api/keys', { name: 'weak', scopes: ['read', 'write'] })
      const refused = await createClient(server.url, weak.json.key).post('/api/mcp/servers', row)
      expect([refused.status, refused.json.error.code]).toEqual([403, 'insufficient_scope'])
      const added = await owner.post('/api/mcp/servers', row)
      expect(added.json).toMatchObject({
        transport: 'stdio',
        url: null,
        status: 'unavailable',
        env: { GREETING: '****' },
      })
      expect(added.json.reason).toContain('SANDBOX_BACKEND')
      await owner.send('PATCH', '/api/settings', { body: { approvals: { mode: 'off' } } })
      const call = async (session: string, tool: string) => {
        await owner.chat(session, `[[call mcp__sh__${tool} {} then say ok]]`)
        return (await owner.messages(session)).findLast(({ role }) => role === 'tool')?.content ?? ''
      }
      const session = await owner.newSession({ settings: { terminal: { backend: 'http' } } })
      const shown = await call(session, 'look')
      expect(shown).toMatch(/\*\*\* \/\S* nothing/)
      // Its value is masked in what the model reads.
      expect(shown).not.toContain('guten-tag-secret')
      expect((await owner.get('/api/mcp/servers/sh')).json).toMatchObject({
        status: 'ready',
        tool_count: 2,
        era: 'legacy',
      })
      expect(await call(session, 'crash')).toContain('out of paper')
      expect(await call(session, 'look')).toContain('nothing')
      expect(await call(await owner.newSession(), 'look')).toContain('this is none')
      expect((await owner.send('DELETE', '/api/mcp/servers/sh')).status).toBe(204)
      // Its program ends with the workspace.
      expect((await owner.send('DELETE', `/api/sessions/${session}`)).status).toBeLessThan(300)
    },
    120_000,
  )

  itInTurn(
    'runs Python programs that call tools, whose calls are judged and shown',
    async () => {
      const owner = createClient(server.url, server.key)
      await owner.send('PATCH', '/api/settings', { body: { approvals: { mode: 'off' } } })
      const session = await owner.newSession({ settings: { terminal: { backend: 'http' } } })
      const source = `
write_file('made.txt', 'one\\ntwo')
print(read_file('made.txt')['total_lines'], terminal('cat made.txt')['exit_code'])
state['kept'] = 1
print(delegate_task(goal='Say hello to the reader.')['results'][0]['status'])
try:
    tools.call('todo', {})
except ToolError as error:
    print(error)`
      const input = { code: source, language: 'python' }
      await owner.chat(session, `[[call execute_code ${JSON.stringify(input)} then say ok]]`)
      const messages = await owner.messages(session)
      expect(JSON.parse(String(messages.findLast(({ role }) => role === 'tool')?.content))).toMatchObject({
        status: 'success',
        output: '2 0\ncompleted\ntodo: there is no such tool for programs',
        tool_calls_made: 4,
      })
    },
    120_000,
  )

  itInTurn(
    'gives processes a number, a terminal and an input that ends; what is built there is run',
    async () => {
      const owner = createClient(server.url, server.key)
      const session = await owner.newSession({ settings: { terminal: { backend: 'http' } } })
      const asked = async (tool: string, input: object) => {
        await owner.chat(session, `[[call ${tool} ${JSON.stringify(input)} then say ok]]`)
        const messages = await owner.messages(session)
        return JSON.parse(String(messages.findLast(({ role }) => role === 'tool')?.content)) as Record<string, unknown>
      }
      expect(await asked('terminal', { command: '[ -t 1 ] && echo screen', pty: true })).toMatchObject({
        output: 'screen',
        exit_code: 0,
      })
      // The server says that it keeps commands away from the machine: code of the project runs unasked.
      const build = 'echo "echo built" > build.sh && bash build.sh'
      expect(await asked('terminal', { command: build })).toMatchObject({ output: 'built', exit_code: 0 })
      const { session_id, pid } = await asked('terminal', { command: 'cat; echo over', pty: true, background: true })
      expect(pid).toBeGreaterThan(1)
      expect(await asked('process', { action: 'close', session_id })).toMatchObject({ status: 'ok' })
      const ended = await asked('process', { action: 'wait', session_id, timeout: 60 })
      expect(ended).toMatchObject({ status: 'exited', exit_code: 0, pid, output: expect.stringContaining('over') })
    },
    120_000,
  )
})
