/** Checks that bubblewrap can isolate commands here. Suites skip without it on a developer machine, and fail in CI. */

import { spawnSync } from 'node:child_process'

export const hasBubblewrap = checkBubblewrap()

function checkBubblewrap() {
  const namespaces = ['--unshare-user', '--unshare-pid', '--unshare-net']
  const { status, stderr } = spawnSync('bwrap', ['--ro-bind', '/', '/', '--proc', '/proc', ...namespaces, 'true'])
  if (status !== 0 && process.env.CI)
    throw new Error(
      `CI needs bubblewrap: apt-get install bubblewrap. ${stderr ? `It cannot create namespaces here: ${stderr}` : ''}`,
    )
  return status === 0
}
