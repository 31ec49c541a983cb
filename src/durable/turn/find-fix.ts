/** Finds what fixed the failure of a call before, in any session of the tenant. */

import { log } from '#agent/core/log.ts'
import { allMarks, type Marks, privateMarks } from '#agent/core/marks.ts'
import type { ToolMessage } from '#agent/core/message.ts'
import type { Authority } from '#agent/core/permission/authority.ts'
import type { ToolCall } from '#agent/core/turn.ts'
import { getFailureSignature } from '#agent/skills/learning/fixes.ts'
import { fenceUntrusted } from '#agent/untrusted/fence.ts'
import { tenantStub } from '#durable/platform/addresses.ts'
import { fixesOf } from '#durable/tenant/fixes/fixes.ts'

/** A text that a result gets beside the outcome of its call, and what it holds. */
export type ResultNote = { readonly text: string; readonly marks: Marks }

/** Returns what the result says about it; undefined when nothing is known. */
export type FindFix = (
  message: ToolMessage,
  calls: readonly ToolCall[],
  options: { readonly env: Pick<Env, 'TENANT'>; readonly authority: Authority },
) => Promise<ResultNote | undefined>

/** A hint is a help: a tenant that cannot be reached changes no result. */
export const findFix: FindFix = async (message, calls, { env, authority }) => {
  const call = calls.find(({ id }) => id === message.callId)
  const signature = call && getFailureSignature(call, message)
  if (signature === undefined) return undefined
  try {
    const found = await fixesOf(tenantStub(env, authority.tenantId)).find(authority, signature)
    if (!found) return undefined
    const nonce = crypto.randomUUID().replaceAll('-', '').slice(0, 16)
    const known = fenceUntrusted(`${found.failed}\nwas fixed by:\n${found.fix}`, {
      source: 'an earlier session',
      nonce,
    })
    const text = `\n[Such a failure was fixed before (${found.uses} times). Try it if it fits.]\n${known}`
    return { text, marks: found.isForeign ? allMarks : privateMarks }
  } catch (error) {
    log.warn('learning.fixes_unreadable', 'Fixes of earlier failures could not be read.', { error })
    return undefined
  }
}
