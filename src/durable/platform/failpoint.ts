/**
 * Places where tests stop the world. `FAILPOINTS="after-tool=hang@2"` makes the second passage of
 * `after-tool` print a line and hang, spin or throw; without the variable a failpoint does nothing. A spin
 * holds the whole runtime inside this stretch of code, so that nothing written in it becomes durable.
 * The line is printed at once: console output is not held back by the output gate.
 */

export type FailpointName =
  | 'accepted'
  | 'before-model'
  | 'mid-stream'
  | 'before-tool'
  | 'during-tool'
  | 'after-tool'
  | 'before-final'
  | 'before-send'
  | 'during-send'
  | 'after-send'

type Action = { readonly do: string; readonly at: number }

const passed = new Map<string, number>()
let armed: string | undefined
let plan: ReadonlyMap<string, Action> | undefined

/** Counting begins anew with another text; the same one, given again by the next object, changes nothing. */
export function armFailpoints(text: string | undefined): void {
  if (text === undefined || text === armed) return
  armed = text
  plan = text ? parse(text) : undefined
  passed.clear()
}

const parse = (text: string) =>
  new Map(
    text.split(',').map((entry) => {
      const [, name = '', action = 'hang', at = '1'] = /^([\w-]+)=(\w+)(?:@(\d+))?$/.exec(entry.trim()) ?? []
      return [name, { do: action, at: Number(at) }]
    }),
  )

/** Undefined when there is nothing to do, so that the usual path does not wait. */
export function failpoint(name: FailpointName): Promise<never> | undefined {
  const action = plan?.get(name)
  if (!action) return undefined
  const times = (passed.get(name) ?? 0) + 1
  passed.set(name, times)
  if (times !== action.at) return undefined
  console.log(`FP:${name}`)
  while (action.do === 'spin') passed.set(name, times)
  if (action.do === 'throw') return Promise.reject(new Error(`failpoint ${name}`))
  return new Promise<never>(() => {})
}
