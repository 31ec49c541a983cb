/** Tests the reference server with real processes. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { isLong, itInTurn } from '../support/long.ts'
import { hasBubblewrap } from './bubblewrap.mjs'
import { call, documented, newWorkspace, onDisk, type SandboxServer, startSandbox } from './server.mjs'

type Event = { readonly t: string; readonly d?: string; readonly [name: string]: unknown }

async function run(server: SandboxServer, ws: string, request: object) {
  const response = await call(server.url, `/v1/w/${ws}/exec`, { method: 'POST', body: JSON.stringify(request) })
  const events = (await response.text())
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Event)
  const out = events.flatMap(({ t, d }) => (t === 'out' ? [d] : [])).join('')
  const err = events.flatMap(({ t, d }) => (t === 'err' ? [d] : [])).join('')
  return { status: response.status, events, out, err, exit: events.find(({ t }) => t === 'exit') }
}

type Tree = { readonly entries: readonly { readonly path: string }[]; readonly truncated: boolean }
type Json = { readonly status: unknown; readonly [name: string]: unknown }
const json = async (response: Promise<Response>): Promise<Json> => {
  const answer = await response
  return { status: answer.status, ...(await answer.json<object>()) }
}
const ask = (server: SandboxServer, path: string, init?: RequestInit) => json(call(server.url, path, init))
const post = (body: object) => ({ method: 'POST', body: JSON.stringify(body) })
const put = (body: object) => ({ method: 'PUT', body: JSON.stringify(body) })
const until = async (isSo: () => Promise<boolean>) => {
  while (!(await isSo())) await new Promise((resolve) => setTimeout(resolve, 20))
}

/** The server of most tests. */
let started: Promise<SandboxServer> | undefined
const startOnce = () =>
  (started ??= startSandbox({
    env: {
      SANDBOX_MEMORY_BYTES: String(200 * 1024 * 1024),
      SANDBOX_PROCESSES: '64',
      SANDBOX_SEARCH_MS: '2500',
    },
  }))
afterAll(async () => (await started)?.stop())

const smallDisk = { SANDBOX_DISK_BYTES: String(5 * 1024 * 1024), SANDBOX_MEASURE_MS: '200' }

describe.skipIf(!hasBubblewrap)('the sandbox server with bubblewrap (needs bubblewrap)', () => {
  let server: SandboxServer
  beforeAll(async () => {
    server = await startOnce()
  })

  it('rejects requests without the key', async () => {
    for (const authorization of ['', 'Bearer', 'Bearer wrong', 'Basic x'])
      expect((await call(server.url, '/v1/health', { headers: { authorization } })).status).toBe(401)
  })

  itInTurn('implements every request of the OpenAPI document', async () => {
    const requests = documented(newWorkspace())
    expect(requests).not.toEqual([])
    for (const [method, path] of requests) {
      const init = method === 'PUT' || method === 'POST' ? { method, body: '{}' } : { method }
      const text = await (await call(server.url, path, init)).text()
      expect(text, `${method} ${path}`).not.toContain('There is no ')
      const other = await call(server.url, `${path}/more/of/it`, init)
      expect(await other.text(), path).toContain('There is no ')
    }
  })

  it('reports its isolation', async () => {
    expect(await ask(server, '/v1/health')).toMatchObject({
      protocol: 1,
      isolation: 'bubblewrap',
      network: false,
      languages: expect.arrayContaining(['bash', 'python']),
    })
  })

  it('reveals no secrets and no paths of its host', async () => {
    const seen = await run(server, newWorkspace(), {
      command:
        'cat /proc/*/environ /proc/*/cmdline /proc/self/mountinfo 2>/dev/null | tr "\\0" "\\n"; env; ls /root /home /work',
    })
    expect(seen.out).not.toContain('a-key-for-tests')
    expect(seen.out).not.toContain('SECRET_OF_HOST')
    expect(seen.events.filter(({ t, d }) => t === 'err' && /No such file/.test(d ?? '')).length).toBeGreaterThan(0)
  })

  it('has no network', async () => {
    const port = new URL(server.url).port
    const { out } = await run(server, newWorkspace(), {
      command: `(echo > /dev/tcp/127.0.0.1/${port}) 2>/dev/null && echo reached || echo closed`,
    })
    expect(out).toBe('closed\n')
  })

  it('prevents writes outside of the workspace', async () => {
    const { out } = await run(server, newWorkspace(), {
      command:
        'for d in / /usr /etc /opt; do touch $d/x 2>/dev/null && echo wrote $d; done; touch /tmp/x ./x && echo here',
    })
    expect(out.replace(/wrote \/(etc)?\n/g, '')).toBe('here\n')
  })

  it('supports opening /dev/stdout', async () => {
    const { out, events } = await run(server, newWorkspace(), { command: 'echo a > /dev/stdout; echo b > /dev/stderr' })
    expect(out).toBe('a\n')
    expect(events).toContainEqual({ t: 'err', d: 'b\n' })
  })

  it('streams output', async () => {
    const ws = newWorkspace()
    const request = post({ command: 'echo first; read line < go; echo second' })
    onDisk(server, ws).pipe('go')
    const response = await call(server.url, `/v1/w/${ws}/exec`, request)
    const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader()
    let heard = ''
    while (!heard.includes('first')) heard += (await reader?.read())?.value ?? ''
    await run(server, ws, { command: 'echo > go' })
    while (!heard.includes('"exit"')) heard += (await reader?.read())?.value ?? ''
    expect(heard).toContain('second')
  })

  it('kills a command when its client disconnects', async () => {
    const ws = newWorkspace()
    const gone = new AbortController()
    const command = 'echo begun > begun; sleep 60; echo late > late'
    const running = call(server.url, `/v1/w/${ws}/exec`, { ...post({ command }), signal: gone.signal })
    await until(async () => onDisk(server, ws).text('begun') === 'begun\n')
    gone.abort()
    await running.then((response) => response.text()).catch(() => undefined)
    await until(async () => (await ask(server, '/v1/health'))['running'] === 0)
    expect(onDisk(server, ws).text('late')).toBeUndefined()
  })

  itInTurn.each([
    ['a fork bomb', ':(){ :|:& };:; sleep 20', 1_000],
    ['a memory bomb', 'x=$(head -c 2000000000 /dev/zero | tr "\\0" x); echo ${#x}', 3_000],
    ['output without end', 'yes', 1_000],
    ['a loop without end', 'while :; do :; done', 1_000],
  ])('bounds %s while others are answered', async (_, command, timeoutMs) => {
    const bomb = run(server, newWorkspace(), { command, timeoutMs, maxOutput: 2_000 })
    const other = newWorkspace()
    const waits: number[] = []
    for (let i = 0; i < 3; i++) {
      const since = performance.now()
      expect((await run(server, other, { command: 'echo alive' })).out).toBe('alive\n')
      waits.push(performance.now() - since)
    }
    const { exit, out } = await bomb
    expect(exit).toBeDefined()
    expect(exit?.['code']).not.toBe(0)
    expect(out.length).toBeLessThanOrEqual(2_000)
    expect(waits.toSorted((a, b) => a - b)[1]).toBeLessThan(1_000)
  })

  it('keeps head and tail of 20 MB and reports the missing bytes', async () => {
    const { events, out, exit } = await run(server, newWorkspace(), {
      command: 'echo head; yes 0123456789 | head -c 20000000; echo; echo tail',
      maxOutput: 10_000,
      timeoutMs: 60_000,
    })
    expect(out.startsWith('head\n0123456789\n')).toBe(true)
    expect(out.endsWith('\ntail\n')).toBe(true)
    const gap = events.find(({ t }) => t === 'gap')
    expect(out.length + Number(gap?.['bytes'])).toBe(20_000_011)
    expect(exit).toMatchObject({ code: 0, truncated: true })
  })

  it('replaces invalid bytes of output', async () => {
    const { out, exit } = await run(server, newWorkspace(), { command: "printf 'a\\xff\\x00\\xc3\\xbcb'" })
    expect(out).toBe('a\uFFFD\0üb')
    expect(exit).toMatchObject({ code: 0 })
  })

  itInTurn('limits concurrent commands of a workspace', async () => {
    const ws = newWorkspace()
    // None of them ends before one was refused.
    const command = 'while [ ! -e go ]; do sleep 0.05; done'
    const running = Array.from({ length: 12 }, () => run(server, ws, { command }))
    expect((await Promise.race(running)).status).toBe(429)
    onDisk(server, ws).write('go', '')
    const all = await Promise.all(running)
    expect(all.filter(({ exit }) => exit?.['code'] === 0).length).toBeGreaterThan(0)
  })

  it.each([
    [{ command: 'x\0y' }, 'command'],
    [{ command: 'x', timeoutMs: 0 }, 'timeoutMs'],
    [{ command: 'x', env: { 'A B': '1' } }, 'A B'],
    [{}, 'command'],
  ])('refuses %j', async (request, named) => {
    const answer = await ask(server, `/v1/w/${newWorkspace()}/exec`, post(request))
    expect(answer).toMatchObject({ status: 400, error: { message: expect.stringContaining(named) } })
  })

  it('reports a missing directory', async () => {
    const { events } = await run(server, newWorkspace(), { command: 'x', cwd: '/workspace/no' })
    expect(events).toContainEqual(expect.objectContaining({ t: 'error', code: 'invalid' }))
  })

  it('rejects workspace names that are paths', async () => {
    for (const name of ['..', '%2e%2e%2fother', 'short', 'UPPERCASE', 'a/b'])
      expect((await call(server.url, `/v1/w/${name}/tree`)).status).toBeGreaterThanOrEqual(400)
  })

  itInTurn('stops a command that fills the disk', async () => {
    const small = await startSandbox({ env: smallDisk })
    try {
      const ws = newWorkspace()
      const { exit } = await run(small, ws, {
        command: 'head -c 20000000 /dev/zero > big; sleep 30',
        timeoutMs: 30_000,
      })
      expect(exit).toMatchObject({ code: null, reason: 'disk' })
      const full = await ask(small, `/v1/w/${ws}/files?path=more`, { method: 'PUT', body: 'x' })
      expect(full).toMatchObject({ status: 507, error: { code: 'quota' } })
      const freeing = await run(small, ws, {
        command: 'echo new > note; echo more >> big; cat note; rm big && echo freed; ls',
        timeoutMs: 30_000,
      })
      expect(freeing).toMatchObject({ out: 'freed\nnote\n', exit: { code: 0 } })
      expect(freeing.err).toMatch(/can remove files, but not write into any[^]*File too large/)
      expect((await run(small, ws, { command: 'echo new > note; cat note' })).out).toBe('new\n')
      expect((await ask(small, `/v1/w/${ws}/files?path=more`, { method: 'PUT', body: 'x' })).status).toBe(200)
    } finally {
      await small.stop()
    }
  })
})

describe.skipIf(!hasBubblewrap)('files of a sandbox (needs bubblewrap)', () => {
  let server: SandboxServer
  beforeAll(async () => {
    server = await startOnce()
  })
  const path = (ws: string, name: string, at: string) => `/v1/w/${ws}/${name}?path=${encodeURIComponent(at)}`

  it('support ranges', async () => {
    const ws = newWorkspace()
    await ask(server, path(ws, 'files', 'digits'), { method: 'PUT', body: '0123456789' })
    const read = async (range: string) => {
      const response = await call(server.url, path(ws, 'files', 'digits'), { headers: { range } })
      return [response.status, await response.text()]
    }
    expect(await read('bytes=2-4')).toEqual([206, '234'])
    expect(await read('bytes=7-')).toEqual([206, '789'])
    expect(await read('bytes=-2')).toEqual([206, '89'])
    expect(await read('bytes=20-')).toEqual([416, ''])
    expect(await read('lines=1')).toEqual([200, '0123456789'])
  })

  it('are never files of the host', async () => {
    const ws = newWorkspace()
    const disk = onDisk(server, ws)
    disk.link('secret', '/etc/passwd')
    disk.link('up', '../..')
    disk.link('out', '/etc')
    disk.link('loop', 'loop')
    for (const at of [
      'secret',
      'up/x',
      'out/passwd',
      '/etc/passwd',
      '../../etc/passwd',
      '/proc/self/environ',
      'loop',
      '/workspace/../etc/passwd',
    ]) {
      expect((await call(server.url, path(ws, 'files', at))).status, at).toBeGreaterThanOrEqual(400)
      const written = await call(server.url, path(ws, 'files', at), { method: 'PUT', body: 'x' })
      expect(written.status, at).toBeGreaterThanOrEqual(400)
      const moved = await call(server.url, `/v1/w/${ws}/move`, post({ from: 'secret', to: `${at}/x` }))
      expect(moved.status, at).toBeGreaterThanOrEqual(400)
    }
    const found = await ask(server, `/v1/w/${ws}/search`, post({ pattern: 'root', target: 'content' }))
    expect(found).toMatchObject({ total: 0 })
  })

  it('resolve links as the sandbox does', async () => {
    const ws = newWorkspace()
    await run(server, ws, {
      command: 'mkdir d; echo in > d/f; ln -s /workspace/d abs; ln -s d rel; ln -s /tmp/t t; echo t > /tmp/t',
    })
    for (const [at, text] of [
      ['abs/f', 'in\n'],
      ['rel/f', 'in\n'],
      ['t', 't\n'],
    ] as const)
      expect(await (await call(server.url, path(ws, 'files', at))).text()).toBe(text)
    await ask(server, path(ws, 'files', 'abs/new'), { method: 'PUT', body: 'x' })
    expect(onDisk(server, ws).text('d/new')).toBe('x')
    expect(await ask(server, path(ws, 'files', 'abs'), { method: 'DELETE' })).toMatchObject({ removed: true })
    expect(onDisk(server, ws).text('d/f')).toBe('in\n')
  })

  it('that are pipes do not block', async () => {
    const ws = newWorkspace()
    onDisk(server, ws).pipe('pipe')
    expect((await call(server.url, path(ws, 'files', 'pipe'))).status).toBe(400)
    expect(await ask(server, `/v1/w/${ws}/search`, post({ pattern: 'x', target: 'content' }))).toMatchObject({
      total: 0,
    })
  })

  it('keep their permissions when written again', async () => {
    const ws = newWorkspace()
    await run(server, ws, { command: 'echo "echo one" > s.sh; chmod 755 s.sh' })
    await ask(server, path(ws, 'files', 's.sh'), { method: 'PUT', body: 'echo two' })
    expect((await run(server, ws, { command: './s.sh' })).out).toBe('two\n')
  })

  it('keep no permissions, and all of their names, when written again', async () => {
    const ws = newWorkspace()
    await run(server, ws, { command: 'echo one > none; chmod 000 none; echo one > a; ln a b; chmod 2750 a' })
    for (const name of ['none', 'a'])
      expect(await ask(server, path(ws, 'files', name), { method: 'PUT', body: 'two\n' })).toMatchObject({
        status: 200,
      })
    const shown = await run(server, ws, { command: 'stat -c %a none a; chmod 600 none; cat none a b; ls -A | wc -l' })
    expect(shown.out).toBe('0\n2750\ntwo\ntwo\ntwo\n3\n')
  })

  it('that become shorter while they are read break the connection', async () => {
    const ws = newWorkspace()
    const bytes = 40_000_000
    await run(server, ws, { command: `head -c ${bytes} /dev/zero > big` })
    const response = await call(server.url, path(ws, 'files', 'big'))
    const reader = response.body!.getReader()
    await reader.read()
    await run(server, ws, { command: 'truncate -s 10 big' })
    const rest = async () => {
      for (;;) if ((await reader.read()).done) return
    }
    await expect(rest()).rejects.toBeInstanceOf(Error)
  }, 15_000)

  itInTurn('remain accessible during a search that never ends', async () => {
    const ws = newWorkspace()
    await ask(server, path(ws, 'files', 'a'), { method: 'PUT', body: 'a'.repeat(40) })
    const endless = ask(server, `/v1/w/${ws}/search`, post({ pattern: '(a+)+$b', target: 'content' }))
    expect((await run(server, ws, { command: 'echo alive' })).out).toBe('alive\n')
    expect(await endless).toMatchObject({ status: 400, error: { message: expect.stringContaining('too long') } })
  })

  it('without permissions are in an archive, and are replaced by one', async () => {
    const [ws, other] = [newWorkspace(), newWorkspace()]
    const locked = 'mkdir d; echo in > d/in; echo one > one; chmod 000 d one'
    await run(server, ws, { command: locked })
    const archive = await (await call(server.url, path(ws, 'tar', '/workspace'))).arrayBuffer()
    await run(server, other, { command: 'mkdir d; echo old > d/in; chmod 000 d' })
    const sent = { method: 'PUT', body: archive }
    expect(await ask(server, path(other, 'tar', '/workspace'), sent)).toMatchObject({ status: 200 })
    expect((await run(server, other, { command: 'stat -c %a d one; chmod 700 d one; cat d/in one' })).out).toBe(
      '0\n0\nin\none\n',
    )
    expect((await run(server, ws, { command: 'cat one; chmod 600 one; cat one' })).out).toBe('one\n')
  })

  itInTurn(
    'that a command has locked are listed, measured and removed by a server that may not read them',
    async () => {
      const locked = await startSandbox({ isUser: true, env: { SANDBOX_DISK_BYTES: String(4 * 1024 * 1024) } })
      try {
        const ws = newWorkspace()
        const lock = 'mkdir -p d/e; echo in > d/e/in; head -c 3000000 /dev/zero > d/big; chmod 500 d/e; chmod 0 d'
        await run(locked, ws, { command: lock })
        const { entries, truncated } = (await ask(locked, path(ws, 'tree', ''))) as unknown as Tree
        expect([entries.map((entry) => entry.path).toSorted(), truncated]).toEqual([
          ['d', 'd/big', 'd/e', 'd/e/in'].map((name) => `/workspace/${name}`),
          false,
        ])
        expect(Number((await ask(locked, `/v1/w/${ws}`))['bytes'])).toBeGreaterThan(3_000_000)
        await run(locked, ws, { command: 'mkdir -p a/b; touch a/b/c; chmod 0 a/b' })
        expect(await ask(locked, path(ws, 'files', 'a'), { method: 'DELETE' })).toMatchObject({ removed: true })
        expect((await ask(locked, `/v1/w/${ws}/clear`, post({}))).status).toBe(200)
        expect((await run(locked, ws, { command: 'ls -A' })).out).toBe('')
        await run(locked, ws, { command: lock })
        expect((await ask(locked, `/v1/w/${ws}`, { method: 'DELETE' })).status).toBe(200)
        expect(await ask(locked, `/v1/w/${ws}`)).toMatchObject({ exists: false })
      } finally {
        await locked.stop()
      }
    },
  )

  it('are listed without the contents of named folders, and when their names are not text', async () => {
    const ws = newWorkspace()
    await run(server, ws, { command: `mkdir -p node_modules/a src; touch node_modules/a/b src/c $'n\\xff'` })
    const listed = (await ask(server, `${path(ws, 'tree', '')}&shallow=node_modules`)) as unknown as Tree
    const names = ['node_modules', 'n\uFFFD', 'src', 'src/c'].map((name) => `/workspace/${name}`)
    expect(listed.entries.map((entry) => entry.path).toSorted()).toEqual(names.toSorted())
    expect((await ask(server, `${path(ws, 'tree', '')}&shallow=../x`)).status).toBe(400)
  })

  it('with more than one name are each a file in an archive', async () => {
    const [ws, other] = [newWorkspace(), newWorkspace()]
    await run(server, ws, { command: 'echo one > a; ln a b' })
    const archive = await (await call(server.url, path(ws, 'tar', '/workspace'))).arrayBuffer()
    await ask(server, path(other, 'tar', '/workspace'), { method: 'PUT', body: archive })
    expect((await run(server, other, { command: 'rm a; stat -c %h b; cat b' })).out).toBe('1\none\n')
  })

  it('stay within reach after a command has locked the workspace', async () => {
    const ws = newWorkspace()
    await run(server, ws, { command: 'echo kept > a; chmod 751 /tmp; chmod 0 /workspace' })
    expect((await run(server, ws, { command: 'cat a; stat -c %a /workspace /tmp' })).out).toBe('kept\n700\n751\n')
  })

  it('of an archive stay inside the workspace', async () => {
    const ws = newWorkspace()
    await run(server, ws, {
      command:
        'mkdir in; ln -s /etc in/etc; echo x > x; tar -cPf t.tar --transform "s,^x,../../../etc/evil," in x; rm -r in x',
    })
    const archive = await (await call(server.url, path(ws, 'files', 't.tar'))).arrayBuffer()
    const other = newWorkspace()
    await call(server.url, `/v1/w/${other}/tar`, { method: 'PUT', body: archive })
    expect((await call(server.url, path(other, 'files', 'in/etc/passwd'))).status).toBe(403)
    expect((await call(server.url, path(ws, 'stat', '/etc/evil'))).status).toBe(403)
  })
})

describe.skipIf(!hasBubblewrap)('jobs of a sandbox (needs bubblewrap)', () => {
  let server: SandboxServer
  beforeAll(async () => {
    server = await startOnce()
  })
  const at = (ws: string, id: string) => `/v1/w/${ws}/jobs/${id}`
  const ended = async (ws: string, id: string, on = server) => {
    await until(async () => !JSON.stringify(await ask(on, at(ws, id))).includes('running'))
    return (await ask(on, at(ws, id)))['state']
  }

  it('start once, return output from any byte, and report their exit code', async () => {
    const ws = newWorkspace()
    const request = put({ command: 'echo begun >> runs; printf "üä\\n"; exit 7' })
    expect(await ask(server, at(ws, 'a'), request)).toMatchObject({ created: true })
    expect(await ask(server, at(ws, 'a'), request)).toMatchObject({ created: false })
    expect(await ended(ws, 'a')).toMatchObject({ at: 'exited', exitCode: 7 })
    expect(onDisk(server, ws).text('runs')).toBe('begun\n')
    expect(await ask(server, `${at(ws, 'a')}/output?from=0&max=3`)).toMatchObject({ text: 'ü', next: 2 })
    expect(await ask(server, `${at(ws, 'a')}/output?from=2`)).toMatchObject({ text: 'ä\n', next: 5 })
    expect(await ask(server, `/v1/w/${ws}/jobs`)).toMatchObject({ jobs: [{ id: 'a' }] })
  })

  it('read their input up to its end', async () => {
    const ws = newWorkspace()
    await ask(server, at(ws, 'cat'), put({ command: 'cat; echo over' }))
    await ask(server, `${at(ws, 'cat')}/input`, post({ text: 'one\n' }))
    await ask(server, `${at(ws, 'cat')}/input`, post({ text: 'two\n', close: true }))
    expect(await ended(ws, 'cat')).toMatchObject({ at: 'exited', exitCode: 0 })
    expect(await ask(server, `${at(ws, 'cat')}/output`)).toMatchObject({ text: 'one\ntwo\nover\n' })
    expect(await ask(server, `${at(ws, 'cat')}/input`, post({ text: 'x' }))).toMatchObject({ status: 409 })
  })

  it('are killed as a whole tree, on request or at their timeout', async () => {
    const ws = newWorkspace()
    const command = (beats: string) => `trap "" TERM INT; (while :; do echo x >> ${beats}; sleep 0.01; done) & sleep 60`
    const readBeats = () => ['kill', 'time'].map((name) => onDisk(server, ws).text(name))
    await ask(server, at(ws, 'time'), put({ command: command('time'), timeoutMs: 1_000 }))
    await ask(server, at(ws, 'kill'), put({ command: command('kill') }))
    await until(async () => readBeats().every((beats) => beats))
    expect(await ask(server, at(ws, 'kill'), { method: 'DELETE' })).toMatchObject({ state: { exitCode: 137 } })
    expect(await ended(ws, 'time')).toMatchObject({ at: 'exited', exitCode: 124 })
    const last = readBeats()
    // Another loop beats meanwhile.
    await ask(server, at(ws, 'other'), put({ command: 'for i in 1 2 3 4 5; do echo x >> others; sleep 0.01; done' }))
    expect(await ended(ws, 'other')).toMatchObject({ at: 'exited', exitCode: 0 })
    expect(readBeats()).toEqual(last)
  })

  itInTurn('are killed in the moment in which they start', async () => {
    const killNext = async (id: string) => {
      const ws = newWorkspace()
      await ask(server, at(ws, id), put({ command: 'sleep 60' }))
      return (await ask(server, at(ws, id), { method: 'DELETE' }))['state']
    }
    const rounds = Array.from({ length: 3 }, async (_, round) => {
      for (let n = 0; n < (isLong ? 10 : 3); n++)
        expect(await killNext(`k${round}-${n}`)).toMatchObject({ at: 'exited', exitCode: 137 })
    })
    await Promise.all(rounds)
  })

  itInTurn('are found by the next server, running or ended', async () => {
    const first = await startSandbox()
    const ws = newWorkspace()
    await ask(first, at(ws, 'runs'), put({ command: 'echo one; read line; echo $line' }))
    await ask(first, at(ws, 'ended'), put({ command: 'exit 5' }))
    await ended(ws, 'ended', first)
    await first.kill()
    const second = await startSandbox({ root: first.root })
    try {
      expect(await ask(second, at(ws, 'ended'))).toMatchObject({ state: { at: 'exited', exitCode: 5 } })
      expect(await ask(second, at(ws, 'runs'))).toMatchObject({ state: { at: 'running' } })
      await ask(second, `${at(ws, 'runs')}/input`, post({ text: 'still here\n' }))
      expect(await ended(ws, 'runs', second)).toMatchObject({ at: 'exited', exitCode: 0 })
      expect(await ask(second, `${at(ws, 'runs')}/output`)).toMatchObject({ text: 'one\nstill here\n' })
    } finally {
      await second.stop()
    }
  })

  itInTurn('that fill the disk are killed, also those of an earlier server, and no others', async () => {
    const first = await startSandbox()
    const [ws, other] = [newWorkspace(), newWorkspace()]
    const fills = 'head -c 20000000 /dev/zero > big; read line'
    await ask(first, at(ws, 'old'), put({ command: fills }))
    await ask(first, at(other, 'small'), put({ command: 'read line' }))
    await first.kill()
    const second = await startSandbox({ root: first.root, env: smallDisk })
    try {
      expect(await ended(ws, 'old', second)).toMatchObject({ at: 'exited', exitCode: 137, reason: 'disk' })
      await ask(second, `/v1/w/${ws}/files?path=big`, { method: 'DELETE' })
      await ask(second, at(ws, 'new'), put({ command: fills }))
      expect(await ended(ws, 'new', second)).toMatchObject({ at: 'exited', exitCode: 137, reason: 'disk' })
      expect(await ask(second, at(other, 'small'))).toMatchObject({ state: { at: 'running' } })
    } finally {
      await second.stop()
    }
  })

  it('are lost when their host has restarted', async () => {
    const ws = newWorkspace()
    await ask(server, at(ws, 'gone'), put({ command: 'sleep 60' }))
    onDisk(server, ws).write('../jobs/gone/boot', 'another machine')
    expect(await ask(server, at(ws, 'gone'))).toMatchObject({ state: { at: 'lost' } })
    expect(await ask(server, at(ws, 'never'))).toMatchObject({ status: 404 })
  })

  itInTurn('are limited in number and output: for a workspace, each tenant and the whole server', async () => {
    const limits = { SANDBOX_JOBS: '1', SANDBOX_TENANT_JOBS: '2', SANDBOX_ALL_JOBS: '3' }
    const small = await startSandbox({ env: { ...limits, SANDBOX_JOB_OUTPUT_BYTES: '1000' } })
    try {
      const ws = newWorkspace()
      await ask(small, at(ws, 'loud'), put({ command: 'yes | head -c 100000; echo end >&2; read x' }))
      expect(await ask(small, at(ws, 'second'), put({ command: 'true' }))).toMatchObject({
        status: 429,
        error: { message: '1 jobs run already.' },
      })
      await ask(small, `${at(ws, 'loud')}/input`, post({ close: true }))
      await ended(ws, 'loud', small)
      const answer = await ask(small, `${at(ws, 'loud')}/output`)
      expect(answer).toMatchObject({ size: 1_000, truncated: true })
      const statusFor = async (tenant: string) => {
        const headers = { 'x-talaria-tenant': `tenant-${tenant}` }
        const request = { ...put({ command: 'read line' }), headers }
        return (await ask(small, at(newWorkspace(), 'job'), request)).status
      }
      const three = await Promise.all([statusFor('a'), statusFor('a'), statusFor('a')])
      expect(three.toSorted()).toEqual([200, 200, 429])
      expect([await statusFor('b'), await statusFor('c')]).toEqual([200, 429])
    } finally {
      await small.stop()
    }
  })
})

describe('the sandbox server without isolation', () => {
  it('prints a warning, and still limits and kills commands', async () => {
    const server = await startSandbox({ args: ['--plain'] })
    try {
      expect(server.said()).toContain('NO ISOLATION')
      expect(await ask(server, '/v1/health')).toMatchObject({ isolation: 'none', network: true })
      const ws = newWorkspace()
      const { out, exit } = await run(server, ws, {
        command: 'echo "${TALARIA_PIPES-}$SANDBOX_HTTP_TOKEN$SECRET_OF_HOST."; mkdir d; cd d; export K=1; sleep 50 &',
      })
      expect(out).toBe('.\n')
      expect(exit).toMatchObject({ code: 0, cwd: '/workspace/d', env: { K: '1' } })
      expect((await run(server, ws, { command: 'sleep 50', timeoutMs: 300 })).exit).toMatchObject({
        code: 124,
        timedOut: true,
      })
      await ask(server, at(ws, 'j'), put({ command: 'echo job' }))
      await until(async () => JSON.stringify(await ask(server, at(ws, 'j'))).includes('exited'))
      expect(await ask(server, `${at(ws, 'j')}/output`)).toMatchObject({ text: 'job\n' })
    } finally {
      await server.stop()
    }
  })
  const at = (ws: string, id: string) => `/v1/w/${ws}/jobs/${id}`
})
