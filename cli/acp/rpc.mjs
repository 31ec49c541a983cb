/** JSON-RPC 2.0 over lines: answers requests, sends requests of its own, and keeps the order of messages. */

export const codes = { parse: -32_700, invalid: -32_600, method: -32_601, params: -32_602, internal: -32_603 }

export class RpcError extends Error {
  constructor(code, message) {
    super(message)
    this.code = code
  }
}

export class Connection {
  #output
  #handlers
  #pending = new Map()
  #lastId = 0

  /** `handlers`: by method. A notification has no answer. */
  constructor(output, handlers) {
    this.#output = output
    this.#handlers = handlers
  }

  /** Resolves when the input ends. */
  async listen(input) {
    let open = ''
    for await (const text of input.setEncoding('utf8')) {
      const lines = (open + text).split('\n')
      open = lines.pop() ?? ''
      for (const line of lines) if (line.trim()) this.#receive(line)
    }
    for (const { reject } of this.#pending.values()) reject(new Error('The editor has gone.'))
  }

  notify(method, params) {
    this.#send({ method, params })
  }

  request(method, params) {
    const id = ++this.#lastId
    this.#send({ id, method, params })
    return new Promise((resolve, reject) => this.#pending.set(id, { resolve, reject }))
  }

  #send(message) {
    this.#output.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
  }

  #receive(line) {
    let message
    try {
      message = JSON.parse(line)
    } catch {
      return this.#send({ id: null, error: { code: codes.parse, message: 'This is not JSON.' } })
    }
    if (typeof message?.method === 'string') return void this.#handle(message)
    const waiting = this.#pending.get(message?.id)
    this.#pending.delete(message?.id)
    if (message?.error) waiting?.reject(new RpcError(message.error.code, message.error.message))
    else waiting?.resolve(message?.result)
  }

  async #handle({ id, method, params }) {
    const isRequest = id !== undefined
    try {
      const handler = Object.hasOwn(this.#handlers, method) ? this.#handlers[method] : undefined
      if (!handler) throw new RpcError(codes.method, `There is no method ${method}.`)
      const result = await handler(params ?? {})
      if (isRequest) this.#send({ id, result: result ?? {} })
    } catch (error) {
      const code = error instanceof RpcError ? error.code : codes.internal
      if (isRequest) this.#send({ id, error: { code, message: String(error?.message ?? error) } })
    }
  }
}
