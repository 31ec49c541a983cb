/** Delivers a mail of anna@x.test, whose sender is proven, to the email handler of the Worker. */

import { createExecutionContext, waitOnExecutionContext } from 'cloudflare:test'
import { env } from 'cloudflare:workers'
import { expect } from 'vitest'
import worker from '#test/support/worker.ts'

const checked = 'Authentication-Results: mx.cloudflare.net; dmarc=pass header.from=x.test'

/** `headers`: lines besides the sender and the proof. */
export async function deliverMail(to: string, headers: readonly string[], text: string): Promise<void> {
  const raw = new TextEncoder().encode(`${[checked, 'From: anna@x.test', ...headers].join('\r\n')}\r\n\r\n${text}`)
  const context = createExecutionContext()
  const message = {
    from: 'anna@x.test',
    to,
    raw: new Response(raw).body!,
    rawSize: raw.length,
    headers: new Headers(),
    setReject: (reason: string) => expect.unreachable(reason),
  } as unknown as ForwardableEmailMessage
  await worker.email(message, env, context)
  await waitOnExecutionContext(context)
}
