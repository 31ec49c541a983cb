/** Reads the heap of the main isolate through the inspector of the local server. */

type Answer = { readonly id?: number; readonly result?: unknown; readonly error?: { readonly message: string } }

/** The proxy in front of the isolate loses messages now and then: an unanswered one is sent again on a new connection. */
const answerTimeoutMs = 15_000
const maxTries = 6

export type Inspector = {
  /** Bytes in use after a forced collection. */
  readonly usedHeap: () => Promise<number>
  /** The same with buffers, which are outside the heap. */
  readonly usedMemory: () => Promise<number>
  readonly close: () => void
}

/** `port`: the `--inspector-port` of the server. */
export function openInspector(port: number): Inspector {
  let connection: Connection | undefined
  const close = () => {
    connection?.close()
    connection = undefined
  }
  const measure = async (): Promise<HeapUsage> => {
    for (let tries = 1; ; tries++)
      try {
        connection ??= await connect(port)
        await connection.send('HeapProfiler.collectGarbage')
        return (await connection.send('Runtime.getHeapUsage')) as HeapUsage
      } catch (error) {
        close()
        if (tries === maxTries) throw error
      }
  }
  return {
    usedHeap: async () => (await measure()).usedSize,
    usedMemory: async () => {
      const { usedSize, backingStorageSize = 0 } = await measure()
      return usedSize + backingStorageSize
    },
    close,
  }
}

type HeapUsage = { readonly usedSize: number; readonly backingStorageSize?: number }

type Connection = { readonly send: (method: string) => Promise<unknown>; readonly close: () => void }

async function connect(port: number): Promise<Connection> {
  const listed = await fetch(`http://127.0.0.1:${port}/json`)
  const [target] = (await listed.json()) as readonly { readonly webSocketDebuggerUrl: string }[]
  if (!target) throw new Error(`The inspector on port ${port} lists no isolate.`)
  // The inspector only accepts pages of this machine; Node lets a client set the header.
  const options = { headers: { origin: 'http://localhost' } } as unknown as string
  const socket = new WebSocket(target.webSocketDebuggerUrl, options)
  await new Promise<void>((resolve, reject) => {
    socket.addEventListener('open', () => resolve())
    socket.addEventListener('error', () => reject(new Error('The inspector refused the connection.')))
  })
  let lastId = 0
  const send = (method: string): Promise<unknown> => {
    const id = ++lastId
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => reject(new Error(`${method} was not answered.`)), answerTimeoutMs)
      const onMessage = ({ data }: MessageEvent) => {
        const answer = JSON.parse(String(data)) as Answer
        if (answer.id !== id) return
        clearTimeout(timer)
        socket.removeEventListener('message', onMessage)
        if (answer.error) reject(new Error(`${method}: ${answer.error.message}`))
        else resolve(answer.result)
      }
      socket.addEventListener('message', onMessage)
      socket.send(JSON.stringify({ id, method }))
    })
  }
  return { send, close: () => socket.close() }
}
