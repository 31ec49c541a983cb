/** Reads the console of a page. Chrome keeps its messages and shows them to each new connection. */

import type { CdpConnection, CdpEvent } from './cdp.ts'
import type { BrowserPage } from './page.ts'

const maxMessages = 50
const maxMessageChars = 1_000

export type ConsoleMessage = { readonly type: string; readonly text: string; readonly source?: string }

/** The last messages and errors, oldest first. */
export async function readConsole(page: BrowserPage, connection: CdpConnection): Promise<readonly ConsoleMessage[]> {
  const messages: TimedMessage[] = []
  const forget = connection.onEvent((event) => {
    const message = toMessage(event)
    if (message) messages.push(message)
  })
  try {
    // Earlier messages arrive before the answers.
    await Promise.all([page.send('Runtime.enable'), page.send('Log.enable')])
    await Promise.all([page.send('Runtime.disable'), page.send('Log.disable')])
  } finally {
    forget()
  }
  return messages
    .toSorted((one, other) => one.at - other.at)
    .slice(-maxMessages)
    .map(({ at: _at, ...message }) => message)
}

export async function clearConsole(page: BrowserPage): Promise<void> {
  await Promise.all([page.send('Runtime.enable'), page.send('Log.enable')])
  await Promise.all([page.send('Runtime.discardConsoleEntries'), page.send('Log.clear')])
}

type RemoteObject = {
  readonly type?: string
  readonly value?: unknown
  readonly description?: string
  readonly preview?: {
    readonly description?: string
    readonly properties?: readonly { name: string; value?: string }[]
  }
}

type TimedMessage = ConsoleMessage & { readonly at: number }
type EventParams = CdpEvent['params']

const toMessage = ({ method, params }: CdpEvent): TimedMessage | undefined => readers[method]?.(params)

const readers: Readonly<Record<string, (params: EventParams) => TimedMessage>> = {
  'Runtime.consoleAPICalled': ({ type, args, timestamp }) => {
    const parts = (args as readonly RemoteObject[] | undefined) ?? []
    return { type: String(type), text: cut(parts.map(renderText).join(' ')), at: Number(timestamp) }
  },
  'Runtime.exceptionThrown': ({ exceptionDetails, timestamp }) => {
    const { text, exception, url, lineNumber = 0 } = exceptionDetails as ExceptionDetails
    const source = url ? { source: `${url.slice(0, 300)}:${lineNumber + 1}` } : {}
    return { type: 'exception', text: cut(exception?.description ?? text), ...source, at: Number(timestamp) }
  },
  'Log.entryAdded': ({ entry }) => {
    const { level, text, url, timestamp } = entry as Readonly<Record<string, unknown>>
    const source = typeof url === 'string' && url ? { source: url.slice(0, 300) } : {}
    return { type: String(level), text: cut(String(text)), ...source, at: Number(timestamp) }
  },
}

type ExceptionDetails = {
  readonly text: string
  readonly url?: string
  readonly lineNumber?: number
  readonly exception?: RemoteObject
}

const cut = (text: string): string => (text.length > maxMessageChars ? `${text.slice(0, maxMessageChars)}…` : text)

function renderText({ type, value, description, preview }: RemoteObject): string {
  if (type === 'string') return String(value)
  if (preview?.properties)
    return `{${preview.properties.map((property) => `${property.name}: ${property.value ?? ''}`).join(', ')}}`
  return description ?? (value === undefined ? 'undefined' : JSON.stringify(value))
}
