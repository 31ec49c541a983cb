/** Asks a person before a value of the vault is filled in, and gives them the browser. Loaded with the first use. */

import type { Assessment } from '#agent/core/permission/approval.ts'
import type { Browser } from '#agent/core/browser/browser.ts'
import { fail, type ToolAnswer } from '../tool-result.ts'
import { type BrowserContext, runBrowser } from './run-browser.ts'

type Fill = { readonly entry?: string | undefined; readonly origin?: string | undefined }

/** A person decides about each fill, in every mode, unless the entry needs nobody's word for this site. */
export async function assessFill({ entry, origin = '' }: Fill, browser: Browser): Promise<Assessment> {
  const subjects = [`${entry ?? ''} ${origin}`.trim()]
  const allowed = { verdict: 'allow', reasons: [], subjects } as const
  if (entry === undefined) return allowed
  const asked = await browser.act({ kind: 'vault' }, { callId: '', signal: new AbortController().signal })
  type Entry = { readonly name: string; readonly unasked: readonly string[] }
  const entries = asked.kind === 'done' ? (asked.value['entries'] as readonly Entry[]) : []
  if (entries.some(({ name, unasked }) => name === entry && unasked.includes(origin))) return allowed
  return { verdict: 'ask', reasons: [`it fills in "${entry}" at ${origin}`], subjects, isUnjudged: true }
}

export async function handOver(
  reason: string,
  { browser, continues, mayWaitFor, ...call }: BrowserContext,
): Promise<ToolAnswer> {
  if (continues) {
    const { answer } = continues
    const isDone = answer !== undefined && 'action' in answer && answer.action === 'accept'
    return runBrowser({ kind: 'takeBack', isDone }, { browser, ...call })
  }
  if (mayWaitFor !== undefined) return fail('Nobody can take the browser here. Go on without it, or tell the user.')
  const given = await browser.act({ kind: 'handOver', reason }, call)
  if (given.kind === 'failed') return fail(given.error, { success: false })
  const { url, host, until } = given.value as { readonly url: string; readonly host: string; readonly until: number }
  return {
    later: {
      kind: 'question',
      question: `The agent asks you to take the browser: ${reason}\n\n${url}\n\nAnswer "Done" when you are done.`,
      choices: ['Done', 'Decline'],
      multiSelect: false,
      elicitation: { server: 'browser', message: reason, mode: 'url', url, host },
      state: '{}',
      until,
    },
  }
}
