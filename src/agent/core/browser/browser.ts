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
  /** Requests of the page, also those between two calls. */
  | { readonly kind: 'requests' }
  | { readonly kind: 'pdf' }
  | { readonly kind: 'upload'; readonly ref: string; readonly files: readonly FileForPage[] }
  | TabsAction
  /** Lists the entries of the vault. */
  | { readonly kind: 'vault' }
  | {
      readonly kind: 'fill'
      readonly entry: string
      readonly origin: string
      readonly fields: readonly { readonly ref: string; readonly field: string }[]
    }
  /** Gives the browser to a person until `takeBack`, or for a limited time. */
  | { readonly kind: 'handOver'; readonly reason: string }
  | { readonly kind: 'takeBack'; readonly isDone: boolean }
  /** The page as a person sees it, and what they do there. */
  | { readonly kind: 'screen' }
  | { readonly kind: 'input'; readonly input: PersonInput }
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

/** Opening needs an address, choosing and closing the number of a page. */
export type TabsAction = {
  readonly kind: 'tabs'
  readonly action: 'list' | 'open' | 'switch' | 'close'
  readonly page?: number | undefined
  readonly url?: string | undefined
}

/** `data`: base64. */
export type FileForPage = { readonly name: string; readonly mediaType: string; readonly data: string }

/** Places are pixels of the view. */
export type PersonInput =
  | { readonly type: 'click'; readonly x: number; readonly y: number }
  | { readonly type: 'scroll'; readonly x: number; readonly y: number; readonly by: number }
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'key'; readonly key: string }

export type BrowserAnswer =
  | {
      readonly kind: 'done'
      readonly value: Readonly<Record<string, unknown>>
      /** A screenshot as JPEG, or a PDF: in base64. */
      readonly image?: string
    }
  /** `error` names the problem and the next step. */
  | { readonly kind: 'failed'; readonly error: string; readonly details?: Readonly<Record<string, unknown>> }

/** The call of a tool. */
export type BrowserCall = {
  readonly callId: string
  readonly signal: AbortSignal
  /** A person acts, and no tool. */
  readonly isPerson?: true
}

/** The one browser of a session. Failures are answers, never rejections. */
export type Browser = {
  /** Whether the settings allow expressions in the console. */
  readonly mayEvaluate: () => boolean
  readonly act: (action: BrowserAction, call: BrowserCall) => Promise<BrowserAnswer>
}

/** `binding`: Browser Run. `cdp`: any endpoint of the DevTools protocol that the deployment names. The others are vendors. */
export const browserBackends = ['binding', 'cdp', 'browserbase', 'steel'] as const
export type BrowserBackend = (typeof browserBackends)[number]
