/** Adds a tool that reads exchange rates, and remembers them for a day. Needs the grants `fetch` and `kv`. */

const dayMs = 86_400_000

export const tools = [
  {
    name: 'exchange_rate',
    description: 'The rate of exchange from one currency to another today.',
    input_schema: {
      type: 'object',
      properties: { from: { type: 'string', description: 'Such as EUR.' }, to: { type: 'string' } },
      required: ['from', 'to'],
    },
    read_only: true,
    async run({ from, to }, ctx) {
      const key = `${from}-${to}`
      const known = await ctx.kv.get(key)
      if (known && Date.now() - known.at < dayMs) return { rate: known.rate }
      const response = await ctx.fetch(`https://api.frankfurter.dev/v1/latest?base=${from}&symbols=${to}`)
      if (!response.ok) throw new Error(`The service answered ${response.status}.`)
      const rate = (await response.json()).rates[to]
      await ctx.kv.put(key, { rate, at: Date.now() })
      return { rate }
    },
  },
]

export const hooks = {
  post_tool_call: {
    matcher: 'plugin__rates__*',
    run(event, ctx) {
      ctx.log(`${event.tool_name} took ${event.duration_ms} ms`)
    },
  },
}
