/**
 * Stops the code at named points for crash tests. With `FAILPOINTS="after-tool=hang@2"` the second passage of
 * `after-tool` prints a line and hangs, spins or throws. Without the variable nothing happens. A spin blocks the runtime
 * within the synchronous stretch, so that its writes never become durable. The output gate does not delay the line.
 */

export type FailpointName =
  | 'accepted'
  | 'before-model'
  | 'mid-stream'
  | 'before-summary'
  | 'after-summary'
  | 'before-tool'
  | 'during-tool'
  | 'after-tool'
  | 'before-final'
  | 'before-send'
  | 'during-send'
  | 'after-send'
  | 'before-subagent'
  | 'after-subagent'
  | 'subagent-ended'
  | 'before-subagent-report'
  | 'before-subagent-results'
  | 'batch-claimed'
  | 'batch-ended'
  | 'job-claimed'
  | 'job-script'
  | 'job-running'
  | 'job-delivering'
  | 'job-delivered'
  | 'after-goal-judge'
  | 'hook-reporting'
  | 'hook-stored'
  | 'hook-claimed'
  | 'hook-sent'
  | 'call-placed'

type FailpointAction = { readonly do: string; readonly at: number }

const passages = new Map<string, number>()
let armed: string | undefined
let plan: ReadonlyMap<string, FailpointAction> | undefined

/** Sets the failpoints. A new text resets the counts; the same text from the next object changes nothing. */
export function armFailpoints(text: string | undefined): void {
  if (text === undefined || text === armed) return
  armed = text
  plan = text ? parse(text) : undefined
  passages.clear()
}

const parse = (text: string) =>
  new Map(
    text.split(',').map((entry) => {
      const [, name = '', action = 'hang', at = '1'] = /^([\w-]+)=(\w+)(?:@(\d+))?$/.exec(entry.trim()) ?? []
      return [name, { do: action, at: Number(at) }]
    }),
  )

/** Passes a failpoint. Undefined when it does nothing, so that the usual path does not await. */
export function failpoint(name: FailpointName): Promise<never> | undefined {
  const action = plan?.get(name)
  if (!action) return undefined
  const times = (passages.get(name) ?? 0) + 1
  passages.set(name, times)
  if (times !== action.at) return undefined
  console.log(`FP:${name}`)
  while (action.do === 'spin') passages.set(name, times)
  if (action.do === 'throw') return Promise.reject(new Error(`failpoint ${name}`))
  return new Promise<never>(() => {})
}
