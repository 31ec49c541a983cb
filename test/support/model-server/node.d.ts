/**
 * Declares the parts of Node that this server uses. The full Node types are left out, because src could then use APIs
 * that Workers do not have.
 */

declare module 'node:process' {
  const process: {
    readonly argv: readonly string[]
    readonly hrtime: { readonly bigint: () => bigint }
    readonly stdout: { readonly write: (text: string) => void }
    readonly on: (signal: 'SIGTERM' | 'SIGINT', listener: () => void) => void
    readonly exit: (code: number) => never
  }
  export default process
}

declare module 'node:buffer' {
  export class Buffer extends Uint8Array {
    static concat(parts: readonly Buffer[]): Buffer
    static from(text: string): Buffer
    lastIndexOf(text: string): number
    lastIndexOf(byte: number): number
    indexOf(text: string, from?: number): number
    includes(text: string): boolean
    toString(encoding: 'utf8' | 'latin1', start?: number, end?: number): string
  }
}

declare module 'node:http' {
  import type { Buffer } from 'node:buffer'
  export type IncomingMessage = {
    readonly method?: string
    readonly url?: string
    readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>
    on(event: 'data', listener: (part: Buffer) => void): void
    on(event: 'end' | 'error', listener: () => void): void
  }
  export type ServerResponse = {
    readonly socket: { readonly destroy: () => void } | null
    readonly writableEnded: boolean
    readonly writeHead: (status: number, headers: Readonly<Record<string, string | number>>) => void
    readonly flushHeaders: () => void
    readonly write: (text: string | Uint8Array, done?: () => void) => boolean
    readonly end: (text?: string) => void
    readonly on: (event: 'close', listener: () => void) => void
  }
  export type Server = {
    readonly listen: (port: number, host: string, listening: () => void) => void
    readonly address: () => { readonly port: number }
    readonly close: (closed: () => void) => void
    readonly closeAllConnections: () => void
    readonly on: (event: 'error', listener: (error: Error) => void) => void
    keepAliveTimeout: number
  }
  export function createServer(listener: (request: IncomingMessage, response: ServerResponse) => void): Server
}
