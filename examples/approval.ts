/** Lets a command wait for a person, and decides about it. */

import assert from 'node:assert/strict'
import { setTimeout as wait } from 'node:timers/promises'
import { api } from './talaria.ts'

type Approval = { readonly id: string; readonly session_id: string; readonly tool: string }
type Run = { readonly status: string; readonly output: string }

const { id } = await api<{ readonly id: string }>('POST', '/api/sessions', {
  model: 'demo/agent',
  settings: { approvals: { mode: 'manual' } },
})
const chat = api<Run>('POST', `/api/sessions/${id}/chat`, { input: 'run: git push origin main' })

let approval: Approval | undefined
for (let tries = 0; !approval && tries < 100; tries++) {
  const { data } = await api<{ readonly data: readonly Approval[] }>('GET', '/api/approvals')
  approval = data.find(({ session_id }) => session_id === id)
  if (!approval) await wait(100)
}
assert.ok(approval, 'The command waits for an approval.')
assert.equal(approval.tool, 'terminal')

await api('POST', `/api/approvals/${approval.id}`, { decision: 'deny', reason: 'Not on a Friday.' })
const run = await chat
assert.equal(run.status, 'completed')

console.log('The agent waited for a decision and went on without the command.')
