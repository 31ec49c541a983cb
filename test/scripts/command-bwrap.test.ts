/**
 * Runs sample command lines in bubblewrap with loggers in the place of destructive programs, and compares what ran with
 * the verdict of the judge. The file system is read-only and there is no network.
 */

import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { judgeCommand } from '#agent/shell-policy/judge-command.ts'
import { mutate, randomOf } from '../agent/shell-policy/mutations.ts'
import { hasBubblewrap } from '../sandbox/bubblewrap.mjs'
import { runProgram } from '../support/start-program.mjs'

const PROGRAMS = [
  'rm',
  'mkfs',
  'mkfs.ext4',
  'dd',
  'wipefs',
  'shred',
  'chmod',
  'chown',
  'find',
  'git',
  'tee',
  'cp',
  'mv',
  'kill',
  'reboot',
  'poweroff',
  'shutdown',
  'systemctl',
  'init',
  'crontab',
  'pkill',
  'sudo',
  'doas',
  'su',
]

describe.skipIf(!hasBubblewrap)('command lines in a namespace without network (needs bubblewrap)', () => {
  let dir = ''
  beforeAll(() => {
    dir = mkdtempSync(join(tmpdir(), 'judge-'))
    for (const name of ['bin', 'log', 'work']) mkdirSync(join(dir, name))
    for (const program of PROGRAMS) {
      writeFileSync(
        join(dir, 'bin', program),
        `#!/bin/bash\nprintf '%s ' ${program} "$@" >> /tmp/judge/log/calls\necho >> /tmp/judge/log/calls\n`,
      )
      chmodSync(join(dir, 'bin', program), 0o755)
    }
  })
  afterAll(() => rmSync(dir, { recursive: true, force: true }))

  /** Runs a command line and returns the log of the replaced programs. */
  async function ran(command: string): Promise<string> {
    const log = join(dir, 'log', 'calls')
    rmSync(log, { force: true })
    const walls = [
      '--ro-bind',
      '/',
      '/',
      '--unshare-all',
      '--die-with-parent',
      '--dev',
      '/dev',
      '--proc',
      '/proc',
      '--tmpfs',
      '/tmp',
    ]
    const places = [
      '--dir',
      '/tmp/judge',
      '--ro-bind',
      join(dir, 'bin'),
      '/tmp/judge/bin',
      '--bind',
      join(dir, 'log'),
      '/tmp/judge/log',
      '--bind',
      join(dir, 'work'),
      '/tmp/judge/work',
    ]
    const env = ['--clearenv', '--setenv', 'PATH', '/tmp/judge/bin:/usr/bin:/bin', '--chdir', '/tmp/judge/work']
    const text = `kill() { /tmp/judge/bin/kill "$@"; }\n${command}`
    await runProgram('bwrap', [...walls, ...places, ...env, 'bash', '-c', text], { timeout: 5_000 })
    return existsSync(log) ? readFileSync(log, 'utf8') : ''
  }

  it('variants that the judge calls hardline start the program they hide', { timeout: 120_000 }, async () => {
    const random = randomOf(11)
    const forms = Array.from({ length: 400 }, () => mutate(random)).filter(
      ({ hardline, made }) =>
        hardline &&
        !made.some((name) =>
          /absolute|busybox|chroot|watch|script|su -c|sudo|doas|strace|unshare|zsh|xxd|flock|taskset/.test(name),
        ),
    )
    const sample = forms
      .filter(({ command }) => /\brm\b.*\//.test(command) && !/zsh|\/bin\//.test(command))
      .slice(0, 40)
    let proved = 0
    for (const { command } of sample) if (/^rm .*\//m.test(await ran(command))) proved++
    for (const { command } of sample)
      expect(
        judgeCommand(command, { cwd: '/tmp/judge/work', workspace: '/tmp/judge/work', isSandboxed: true }).verdict,
      ).toBe('hardline')
    expect(sample.length).toBe(40)
    expect(proved).toBeGreaterThan(sample.length * 0.7)
  })

  it('no allowed command starts one of them', { timeout: 60_000 }, async () => {
    const harmless = [
      'echo "rm -rf /"',
      "grep -rn 'rm -rf /' .",
      "printf '%s\\n' 'rm -rf /' > x.txt",
      "cat <<'E'\nrm -rf /\nE",
      'x="rm -rf /"; echo "$x"',
      "f() { rm -rf /; }; echo 'not called'".replace('rm -rf /', 'echo rm'),
    ]
    for (const command of harmless) {
      expect([
        command,
        judgeCommand(command, { cwd: '/tmp/judge/work', workspace: '/tmp/judge/work', isSandboxed: true }).verdict,
      ]).toEqual([command, 'allow'])
      expect([command, await ran(command)]).toEqual([command, ''])
    }
  })
})
