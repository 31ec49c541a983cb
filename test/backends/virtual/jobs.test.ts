import { describe, expect, it, vi } from 'vitest'
import type { ExecutionBackend, Jobs } from '#agent/core/backend.ts'
import { bindings, inWorkspace } from '../support/workspace.ts'

const T = { timeoutMs: 20_000 }
const jobsOf = ({ jobs }: ExecutionBackend): Jobs => {
  if (!jobs) throw new Error('this backend has no jobs')
  return jobs
}

/** Polls until the condition is true, limited by the timeout of the test. */
async function until<T>(look: () => Promise<T>, is: (seen: T) => boolean): Promise<T> {
  for (;;) {
    const seen = await look()
    if (is(seen)) return seen
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
}

const ended = (jobs: Jobs, id: string) =>
  until(
    () => jobs.state(id),
    ({ at }) => at !== 'running',
  )
const everything = async (jobs: Jobs, id: string) => (await jobs.output(id, 0, 1_000_000)).text

describe.each([
  ['inline', undefined],
  ['in the isolate', bindings.LOADER],
])('a background job, %s', (_, loader) => {
  it('continues after it was started, and reports its exit code', () =>
    inWorkspace({ loader }, async ({ backend }) => {
      const jobs = jobsOf(backend)
      const wait = 'while [ ! -e go ]; do sleep 0.01; done'
      await jobs.start('a', `echo one; ${wait}; echo two >&2; echo $WHO > here; pwd; exit 3`, {
        ...T,
        cwd: '/tmp',
        env: { WHO: 'job' },
      })
      expect(await jobs.state('a')).toEqual({ at: 'running' })
      await backend.exec('touch /tmp/go', T)
      expect(await ended(jobs, 'a')).toMatchObject({ at: 'exited', exitCode: 3 })
      expect(await everything(jobs, 'a')).toBe('one\ntwo\n/tmp\n')
      expect((await backend.exec('cat /tmp/here', T)).stdout).toBe('job\n')
    }))

  it('provides its output while it runs, statement by statement', () =>
    inWorkspace({ loader }, async ({ backend }) => {
      const jobs = jobsOf(backend)
      await jobs.start('a', 'echo première; sleep 1000; echo never', T)
      const first = await until(
        () => jobs.output('a', 0, 100),
        ({ text }) => text !== '',
      )
      expect(first).toEqual({ text: 'première\n', next: 10 })
      expect(await jobs.output('a', first.next, 100)).toEqual({ text: '', next: 10 })
      expect(await jobs.state('a')).toEqual({ at: 'running' })
      await jobs.kill('a')
    }))

  it('writes nothing any more after a kill', () =>
    inWorkspace({ loader }, async ({ backend }) => {
      const jobs = jobsOf(backend)
      await jobs.start('a', 'while :; do echo x >> log; sleep 0.001; done', T)
      await until(
        () => backend.files.stat('log'),
        (stat) => stat !== undefined,
      )
      await jobs.kill('a')
      expect(await jobs.state('a')).toMatchObject({ at: 'exited', exitCode: 137 })
      const size = (await backend.files.stat('log'))?.size
      // Another loop of this kind writes meanwhile.
      await jobs.start('b', 'for i in $(seq 20); do echo x >> other; sleep 0.001; done', T)
      expect(await ended(jobs, 'b')).toMatchObject({ at: 'exited', exitCode: 0 })
      expect((await backend.files.stat('log'))?.size).toBe(size)
      await jobs.kill('a')
    }))

  it('ends at its timeout with 124', () =>
    inWorkspace({ loader }, async ({ backend }) => {
      const jobs = jobsOf(backend)
      await jobs.start('a', 'echo begun; sleep 1000', { timeoutMs: 200 })
      expect(await ended(jobs, 'a')).toMatchObject({ at: 'exited', exitCode: 124 })
      expect(await everything(jobs, 'a')).toBe('begun\n')
    }))
})

describe('background jobs', () => {
  it('are started once per id', () =>
    inWorkspace({}, async ({ backend }) => {
      const jobs = jobsOf(backend)
      for (let i = 0; i < 3; i++) await jobs.start('same', 'echo x >> count', T)
      await ended(jobs, 'same')
      await jobs.start('same', 'echo x >> count', T)
      expect((await backend.exec('cat count', T)).stdout).toBe('x\n')
    }))

  it('are lost without an exit code after an eviction', () =>
    inWorkspace({}, async ({ backend, open }) => {
      await jobsOf(backend).start('a', 'echo before; sleep 1000', T)
      await until(
        () => jobsOf(backend).output('a', 0, 100),
        ({ text }) => text !== '',
      )
      const later = jobsOf(open())
      expect(await later.state('a')).toEqual({ at: 'lost', reason: 'restarted' })
      expect(await everything(later, 'a')).toBe('before\n')
      await later.start('a', 'echo again', T)
      expect(await later.state('a')).toEqual({ at: 'lost', reason: 'restarted' })
      await later.kill('a')
      await jobsOf(backend).kill('a')
    }))

  it('may end after their session is deleted', () =>
    inWorkspace({}, async ({ backend, sql }) => {
      const warned = vi.spyOn(console, 'warn').mockImplementation(() => undefined)
      await jobsOf(backend).start('a', 'while [ ! -e go ]; do sleep 0.01; done', T)
      sql.exec('DROP TABLE jobs')
      await backend.exec('touch go', T)
      await until(
        async () => warned.mock.calls.length,
        (count) => count === 1,
      )
      expect(warned).toHaveBeenCalledOnce()
      warned.mockRestore()
    }))

  it('have their exit code and output after an eviction', () =>
    inWorkspace({}, async ({ backend, open }) => {
      await jobsOf(backend).start('a', 'echo done; exit 7', T)
      await ended(jobsOf(backend), 'a')
      const later = jobsOf(open())
      expect([await later.state('a'), await everything(later, 'a')]).toMatchObject([
        { at: 'exited', exitCode: 7, endedMsAgo: expect.any(Number) },
        'done\n',
      ])
    }))

  it('are at most eight at a time', () =>
    inWorkspace({}, async ({ backend }) => {
      const jobs = jobsOf(backend)
      for (let i = 0; i < 8; i++) await jobs.start(`job${i}`, 'sleep 1000', T)
      await expect(jobs.start('one more', 'true', T)).rejects.toMatchObject({ code: 'quota' })
      await jobs.kill('job3')
      await jobs.start('one more', 'true', T)
      expect(await ended(jobs, 'one more')).toMatchObject({ at: 'exited', exitCode: 0 })
      await Promise.all([0, 1, 2, 4, 5, 6, 7].map((i) => jobs.kill(`job${i}`)))
    }))

  it('keep the last 200 000 bytes of their output, in pages of whole characters', () =>
    inWorkspace({}, async ({ backend }) => {
      const jobs = jobsOf(backend)
      await jobs.start('a', "for i in $(seq 1 30); do :; done; printf 'é%.0s' {1..4000}; seq 1 50000", T)
      await ended(jobs, 'a')
      let at = 0
      let text = ''
      for (;;) {
        const page = await jobs.output('a', at, 9999)
        if (page.next === at) break
        expect(page.text).not.toContain('\uFFFD')
        text += page.text
        at = page.next
      }
      expect(at).toBe(4000 * 2 + 288_894)
      expect(text).toMatch(/^\[\.\.\. 96894 bytes are no longer stored \.\.\.\]\n/)
      expect(text.endsWith('49999\n50000\n')).toBe(true)
      expect(text.length).toBeLessThan(200_100)
    }))

  it('with an unknown id are an error', () =>
    inWorkspace({}, async ({ backend, sql }) => {
      await expect(jobsOf(backend).state('none')).rejects.toMatchObject({ code: 'invalid' })
      expect(sql.exec(`SELECT name FROM sqlite_master WHERE name = 'jobs'`).toArray()).toEqual([])
    }))

  it('provide the output of a statement that did not end', () =>
    inWorkspace({}, async ({ backend }) => {
      const jobs = jobsOf(backend)
      await jobs.start('a', 'echo a; for i in 1 2; do echo $i; [ $i = 2 ] && exit 5; done', T)
      expect(await ended(jobs, 'a')).toMatchObject({ at: 'exited', exitCode: 5 })
      expect(await everything(jobs, 'a')).toBe('a\n1\n2\n')
    }))
})
