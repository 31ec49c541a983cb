/** Tests that endless or huge commands end by themselves without blocking other sessions. */

import { describe, expect, it } from 'vitest'
import type { ExecResult } from '#agent/core/backend.ts'
import { bindings, inWorkspace, type Workspace } from '../support/workspace.ts'
import { firstRows, isLong, itInTurn } from '#test/support/long.ts'

/** Calls another session repeatedly during the work, and returns the number of responses and the longest wait. */
async function meanwhile<T>(work: Promise<T>): Promise<{ result: T; answers: number; longest: number }> {
  const state = { over: false }
  let answers = 0
  let longest = 0
  const asking = inWorkspace({}, async ({ backend }) => {
    while (!state.over) {
      const start = performance.now()
      await backend.files.write('ping', new Uint8Array(1))
      await new Promise((resolve) => setTimeout(resolve, 5))
      longest = Math.max(longest, performance.now() - start)
      answers++
    }
  })
  const result = await work.finally(() => (state.over = true))
  await asking
  return { result, answers, longest }
}

const attack = async (command: string, timeoutMs = 20_000, loader?: WorkerLoader) => {
  let told: { result: ExecResult; answers: number } | undefined
  await inWorkspace({ loader }, async ({ backend }) => {
    const { longest, ...rest } = await meanwhile(backend.exec(command, { timeoutMs }))
    console.log(`${Math.round(rest.result.ms)} ms, longest wait of another ${Math.round(longest)} ms: ${command}`)
    told = rest
  })
  if (!told) throw new Error('nothing was run')
  return told
}

describe('an endless command or loop', () => {
  const attacks: readonly (readonly [name: string, command: string, reason: RegExp])[] = [
    ['while', 'while true; do :; done', /too many commands/],
    ['started by xargs', `echo a b | xargs -n1 sh -c 'while :; do :; done'`, /too many commands/],
    ['a function', 'f() { f; }; f', /recursion depth/],
    ['a fork bomb', ':() { : | : & }; :', /recursion depth/],
    ['seq', 'seq 1000000000 | head -1', /limit exceeded/],
    ['awk', "awk 'BEGIN { while (1) i++ }'", /maximum iterations/],
    ['sed', "echo x | sed ':a;s/x/xx/;ba'", /maximum iterations/],
    ['jq', "jq -n 'last(repeat(1))'", /too many iterations/],
    ['in shells within shells', `bash -c 'bash -c "while :; do :; done"'`, /too many commands/],
    ['under timeout', `timeout 600 sh -c 'while :; do :; done'`, /too many commands/],
    ['until', 'until false; do :; done', /too many commands/],
    ['arithmetic', 'for ((;;)); do ((x++)); done', /too many|iterations/],
    ['inside a substitution', 'x=$(while :; do :; done)', /too many commands/],
    ['started by find', `touch f; find . -exec sh -c 'while :; do :; done' \\;`, /too many commands/],
    ['a function in substitutions', 'f() { echo $(f); }; f', /nesting limit|recursion depth/],
    ['a function of awk', "awk 'function f(n) { return f(n+1) } BEGIN { f(1) }'", /recursion depth/],
    ['a function of jq', "jq -n 'def f: f; f'", /depth limit/],
  ]
  it.each(firstRows(3, attacks, 1))(
    '%s is stopped by counting, and says so',
    { timeout: 60_000 },
    async (_, command, reason) => {
      const { result } = await attack(command)
      expect(result).toMatchObject({ exitCode: 126, timedOut: false, stderr: expect.stringMatching(reason) })
    },
  )

  it('yes prints enough for its reader', async () => {
    expect((await attack('yes | head -2')).result).toMatchObject({ exitCode: 0, stdout: 'y\ny\n' })
  })
})

describe('memory', () => {
  it.each([
    ['a doubled string', 'a=x; while :; do a=$a$a; done', /string length limit/],
    ['a wide printf', "printf '%1000000000d' 1", /limit exceeded/],
    ['a wide expansion', 'echo {1..9999999}', /limit exceeded/],
    ['crossed expansions', 'echo {1..9999}{1..9999}', /limit exceeded/],
    ['a long range in jq', "jq -n '[range(1e9)] | length'", /limit exceeded/],
    ['output of 100 MB', 'head -c 100000000 /dev/zero', /output size exceeded/],
    ['output in many parts', 'while true; do yes aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa; done', /output size exceeded/],
  ])('%s is refused', { timeout: 60_000 }, async (_, command, reason) => {
    const { result } = await attack(command)
    expect(result).toMatchObject({ exitCode: 126, stderr: expect.stringMatching(reason) })
    expect(result.stdout.length).toBeLessThan(300_000)
  })

  itInTurn.each([
    ['a file that grows', 'echo x > a; while :; do cat a a > b; mv b a; done'],
    ['a file without end', 'truncate -s 10G x'],
    ['a copy without end', 'dd if=/dev/zero of=big bs=1M count=5000'],
  ])('%s leaves a workspace of bounded size', { timeout: 60_000 }, async (_, command) => {
    await inWorkspace({}, async ({ backend }) => {
      const { result } = await meanwhile(backend.exec(command, { timeoutMs: 20_000 }))
      expect(result.exitCode).not.toBe(0)
      expect(backend.usedBytes()).toBeLessThan(64 * 1024 * 1024)
    })
  })
})

describe('long input', () => {
  const long = 'for i in 1 2 3 4; do seq 1 90000; done > long; '
  it.each([
    ['sed', `${long} sed s/1/x/g long | tail -1`, /more than 100000 lines/],
    ['awk', `${long} awk '{ s += $1 } END { print s }' long`, /limit exceeded/],
    ['grep', `${long} grep -c 7 long`, /limit exceeded/],
    ['sort', `${long} sort long | tail -1`, /more than 250000 lines/],
    ['xxd', 'head -c 3000000 /dev/zero > long; xxd long | tail -1', /more than 2 MiB/],
    ['od', 'head -c 3000000 /dev/zero > long; od long | tail -1', /more than 2 MiB/],
  ])('is refused by %s in words', { timeout: 60_000 }, async (_, command, reason) => {
    const { result } = await attack(command)
    expect(result.stderr).toMatch(reason)
  })

  it('of two unlike files is compared coarsely in limited time', { timeout: 60_000 }, async () => {
    const { result } = await attack('seq 1 2 60000 > a; seq 2 2 60000 > b; diff a b | wc -l')
    expect(result).toMatchObject({ exitCode: 0, stdout: '60002\n' })
  })
})

describe('patterns that backtrack', () => {
  const text = `${'a'.repeat(50)}!`
  it.each([
    ['grep', `echo ${text} | grep -E '^(a+)+$'`],
    ['awk', `echo ${text} | awk '/^(a+)+$/'`],
    ['sed', `echo ${text} | sed -nE '/^(a+)+$/p'`],
    ['jq', `jq -n '"${text}" | select(test("^(a+)+$"))'`],
    ['the shell', `[[ ${text} =~ ^(a+)+$ ]] && echo matched; true`],
    ['grep with look-around', `echo ${text} | grep -P '(?=a)^(a+)+$'; true`],
  ])('are no way to stop %s', async (_, command) => {
    expect((await attack(command)).result.stdout).toBe('')
  })
})

describe('a timeout', () => {
  it.each([
    ['sleeping', 'echo begun; sleep 1000'],
    ['counting in memory', 'echo begun; a=(); while :; do a+=(x); done'],
  ])('ends what is %s, lets others in and keeps what was printed', { timeout: 60_000 }, async (_, command) => {
    const { result, answers } = await attack(command, 700)
    expect(result).toMatchObject({ exitCode: 124, timedOut: true, stdout: 'begun\n' })
    expect(answers).toBeGreaterThan(3)
  })

  itInTurn.each([
    ['inline', undefined],
    ['in the isolate', bindings.LOADER],
  ])('is the end of writing, too: %s', { timeout: 60_000 }, async (_, loader) => {
    const endless = 'while :; do echo x >> log; done'
    await inWorkspace({ loader }, async ({ backend }) => {
      const { result } = await meanwhile(backend.exec(endless, { timeoutMs: 300 }))
      expect(result).toMatchObject({ exitCode: 124, timedOut: true })
      const size = (await backend.files.stat('log'))?.size
      // Another loop of this kind writes meanwhile.
      await backend.exec('for i in $(seq 100); do echo x >> other; done', { timeoutMs: 20_000 })
      expect((await backend.files.stat('other'))?.size).toBe(200)
      expect((await backend.files.stat('log'))?.size).toBe(size)
    })
  })

  it('also ends an exit handler', async () => {
    const { result } = await attack("trap 'sleep 1000; echo late' EXIT; echo early", 500)
    expect(result).toMatchObject({ timedOut: true })
    expect(result.stdout).not.toContain('late')
  })
})

describe('bytes', () => {
  it.each([
    ['noise', 'head -c 3000 /dev/urandom'],
    ['zeros', 'head -c 3000 /dev/zero'],
  ])('that are no text are counted, not shown: %s', async (_, command) => {
    expect((await attack(command)).result).toMatchObject({
      exitCode: 0,
      stdout: expect.stringMatching(/^\[binary output, 3000 bytes, not shown/),
    })
  })

  it('of another encoding are decoded leniently, and pass through pipes unchanged', async () => {
    const { result } = await attack(`echo 636166e90a | xxd -r -p > f; cat f; cat f | wc -c; cat f | xxd -p`)
    expect(result.stdout.split('\n').slice(1)).toEqual(['5', '636166e90a', ''])
  })
})

describe('many and large files', () => {
  const fill = ({ sql, backend }: Workspace, count: number) =>
    backend.files.write('many/0', new Uint8Array(1)).then(() =>
      sql.exec(
        `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?)
         INSERT INTO workspace SELECT '/workspace/many', 'f' || i, 'file', 420, 0, 1, NULL, x'61' FROM n`,
        count,
      ),
    )

  const fileCount = isLong ? 100_000 : 6_000
  it(`${fileCount} files can be counted, searched and removed without blocking others`, { timeout: 120_000 }, () =>
    inWorkspace({}, async (workspace) => {
      await fill(workspace, fileCount)
      const { backend } = workspace
      const query = { pattern: 'nothing', target: 'content' as const, limit: 5, offset: 0 }
      const { result, answers } = await meanwhile(backend.files.search(query))
      expect(result).toMatchObject({ total: 0 })
      expect(answers).toBeGreaterThan(3)
      const listed = await meanwhile(backend.exec('ls many | wc -l; rm -r many; ls', { timeoutMs: 60_000 }))
      expect(listed.result).toMatchObject({ exitCode: 0, stdout: `${fileCount + 1}\n` })
    }),
  )

  it('a file of 100 MB is rejected with a hint', () =>
    inWorkspace({}, async ({ backend }) => {
      const large = backend.files.write('large', new Uint8Array(100_000_000))
      await expect(large).rejects.toMatchObject({ code: 'unsupported', hint: expect.stringContaining('30 MiB') })
      expect(backend.usedBytes()).toBe(0)
    }))

  itInTurn('a file of 20 MB is stored, but is too large for a command that reads it whole', { timeout: 60_000 }, () =>
    inWorkspace({ loader: bindings.LOADER }, async ({ backend }) => {
      await backend.files.write('large', new Uint8Array(20_000_000).fill(97))
      expect((await backend.files.read('large'))?.byteLength).toBe(20_000_000)
      const { result } = await meanwhile(backend.exec('stat -c %s large; cat large | wc -c', { timeoutMs: 20_000 }))
      expect(result.stdout).toMatch(/^20000000\n/)
    }),
  )

  it('the quota of the workspace applies to tools and commands', () =>
    inWorkspace({ quotaBytes: () => 10_000 }, async ({ backend }) => {
      await expect(backend.files.write('x', new Uint8Array(10_001))).rejects.toMatchObject({ code: 'quota' })
      const { stderr } = await backend.exec('while :; do yes >> log || break; done', { timeoutMs: 20_000 })
      expect(stderr).toContain('no space left')
      expect(backend.usedBytes()).toBeLessThanOrEqual(10_000)
    }))
})
