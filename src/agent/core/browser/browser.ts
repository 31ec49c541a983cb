/** Defines the browser of a session: what its tools ask it to do, and what it answers. */

export type BrowserAction =
  | { readonly kind: 'navigate'; readonly url: string }
  | { readonly kind: 'snapshot'; readonly isFull: boolean }
  | { readonly kind: 'click'; readonly ref: string }
  | { readonly kind: 'type'; readonly ref: string; readonly text: string }
  | { readonly kind: 'press'; readonly key: string }
  | { readonly kind: 'scroll'; readonly direction: 'up' | 'down' }
  | { readonly kind: 'back' }
  | { readonly kind: 'images' }
  | { readonly kind: 'console'; readonly isCleared: boolean; readonly expression?: string | undefined }
  | { readonly kind: 'screenshot' }
  | {
      /** A command of the DevTools protocol. */
      readonly kind: 'cdp'
      readonly method: string
      readonly params: Readonly<Record<string, unknown>>
      readonly timeoutMs: number
      readonly frameId?: string
    }
  /** The document as it is shown now, for web_extract. */
  | { readonly kind: 'html' }
  | { readonly kind: 'dialog'; readonly isAccepted: boolean; readonly text?: string | undefined }

export type BrowserAnswer =
  | {
      readonly kind: 'done'
      readonly value: Readonly<Record<string, unknown>>
      /** A screenshot: JPEG in base64. */
      readonly image?: string
    }
  /** `error` names the problem and the next step. */
  | { readonly kind: 'failed'; readonly error: string; readonly details?: Readonly<Record<string, unknown>> }

/** The call of a tool. */
export type BrowserCall = { readonly callId: string; readonly signal: AbortSignal }

/** The one browser of a session. Failures are answers, never rejections. */
export type Browser = {
  /** Whether the settings allow expressions in the console. */
  readonly mayEvaluate: () => boolean
  readonly act: (action: BrowserAction, call: BrowserCall) => Promise<BrowserAnswer>
}

/** `binding`: Browser Run. `cdp`: any endpoint of the DevTools protocol that the deployment names. The others are vendors. */
export const browserBackends = ['binding', 'cdp', 'browserbase', 'steel'] as const
export type BrowserBackend = (typeof browserBackends)[number]
