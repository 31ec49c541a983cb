/** Adds to the result of a failed call what fixed the same failure before. */

import { log } from '#agent/core/log.ts'
import type { Authority } from '#agent/core/permission/authority.ts'
import type { Result, ToolCall } from '#agent/core/turn.ts'
import { fenceUntrusted } from '#agent/untrusted/fence.ts'
import { getFailureSignature } from '#agent/skills/learning/fixes.ts'
import { tenantStub } from '#durable/platform/addresses.ts'

export type FixHintOptions = {
  readonly env: Pick<Env, 'TENANT'>
  readonly authority: Authority
  readonly isEnabled: boolean
}

/** A hint is a help: a tenant that cannot be reached changes no result. */
export async function* addFixHints(
  results: AsyncIterable<Result>,
  calls: readonly ToolCall[],
  options: FixHintOptions,
): AsyncGenerator<Result> {
  for await (const result of results) {
    const hint = options.isEnabled && result.of === 'tool' ? await findHint(result, calls, options) : undefined
    if (hint === undefined || result.of !== 'tool') yield result
    else
      yield {
        ...result,
        message: { ...result.message, content: [...result.message.content, { type: 'text', text: hint }] },
      }
  }
}

async function findHint(
  { message }: Extract<Result, { of: 'tool' }>,
  calls: readonly ToolCall[],
  { env, authority }: FixHintOptions,
): Promise<string | undefined> {
  const call = calls.find(({ id }) => id === message.callId)
  const signature = call && getFailureSignature(call, message)
  if (signature === undefined) return undefined
  try {
    const found = await tenantStub(env, authority.tenantId).fixes.find(authority, signature)
    if (!found) return undefined
    const nonce = crypto.randomUUID().replaceAll('-', '').slice(0, 16)
    const known = fenceUntrusted(`${found.failed}\nwas fixed by:\n${found.fix}`, {
      source: 'an earlier session',
      nonce,
    })
    return `\n[Such a failure was fixed before (${found.uses} times). Try it if it fits.]\n${known}`
  } catch (error) {
    log.warn('learning.fixes_unreadable', 'Fixes of earlier failures could not be read.', { error })
    return undefined
  }
}
