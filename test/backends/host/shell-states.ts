/** Tests that the exit code, the directory and the variables of a command are right in whatever state it leaves its shell. */

import { expect, it } from 'vitest'
import type { ExecutionBackend } from '#agent/core/backend.ts'

type Backend = Pick<ExecutionBackend, 'exec' | 'capabilities'>

const states: Readonly<Record<string, string>> = {
  noclobber: 'set -C',
  'errexit, nounset and noglob': 'set -euf',
  'a separator that is a digit': 'export IFS=0123456789',
  'read-only variables': 'readonly __e=1 __talaria=1 s=1 k=1',
  'functions of our names':
    'pwd() { echo /nowhere; }; env() { :; }; exit() { :; }; echo() { :; }; printf() { :; }; set() { :; }',
  aliases: 'shopt -s expand_aliases; alias pwd="echo /nowhere" env=: exit=: set=: echo=: printf=:',
  'exported read-only variables': 'export UID EUID PPID SHELLOPTS BASHOPTS',
}

export const keepsShellStates = (use: (work: (backend: Backend) => Promise<void>) => Promise<void>) =>
  it.each(Object.entries(states))('reports its end with %s', { timeout: 60_000 }, (_, state) =>
    use(async (backend) => {
      const { root } = backend.capabilities
      const options = { timeoutMs: 20_000 }
      const command = `mkdir -p states && cd states && export SEEN=1; ${state}\nbuiltin exit 42`
      const first = await backend.exec(command, options)
      expect(first).toMatchObject({ exitCode: 42, stderr: '', cwd: `${root}/states`, env: { SEEN: '1' } })
      const next = await backend.exec('builtin exit 31', { ...options, env: first.env })
      expect(next).toMatchObject({ exitCode: 31, stderr: '', cwd: root })
    }),
  )
