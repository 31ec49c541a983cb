/** Defines what a session stores about its browser between two calls. */

import type { BrowserBackend } from './browser.ts'

/** A document of the last snapshot. Its references are valid while the frame has this loader. */
export type SnapshotFrame = { readonly id: string; readonly loaderId: string }

/** How the next dialog of a page is answered. */
export type DialogChoice = { readonly isAccepted: boolean; readonly text?: string }

/** A field whose value the model must not see, in a document of a frame. */
export type FilledField = SnapshotFrame & { readonly node: number }

/** A browser that runs, and its page. */
export type OpenBrowser = {
  readonly at: 'open'
  readonly backend: BrowserBackend
  /** The session of the vendor, or the browser context of an endpoint that sessions share. */
  readonly sessionId: string
  /** The address of the connection, where it is a secret. */
  readonly sealedUrl?: string
  readonly targetId: string
  /** The main document first. References of the nth frame begin with `f<n>`. */
  readonly frames: readonly SnapshotFrame[]
  readonly snapshotNo: number
  /** The page of the last call. */
  readonly url: string
  readonly openedAt: number
  readonly usedAt: number
  /** The time until which it was billed. Absent: since it was opened. */
  readonly billedAt?: number
  readonly dialog?: DialogChoice | undefined
  /** The document that is shown, where the server answered with an error. */
  /** All pages, the one in use among them. Absent: there is one. */
  readonly pages?: readonly string[]
  /** Fields that the vault or a person has filled in. */
  readonly filled?: readonly FilledField[]
  /** It holds values that the model must not see: commands that could read them are refused. */
  readonly isGuarded?: true
  /** The texts that a person has typed, sealed. */
  readonly typed?: string
  /** A person has the browser until then. */
  readonly lease?: { readonly until: number; readonly reason: string } | undefined
  /** The profile that it was opened with. */
  readonly profile?: string
  readonly failed?: { readonly loaderId: string; readonly status: number } | undefined
}

/** A browser that is to be closed. The vendor is asked until it confirms, or has failed too often. */
export type ClosingBrowser = Omit<OpenBrowser, 'at'> & {
  readonly at: 'closing'
  readonly reason: string
  readonly attempts: number
  readonly nextAt: number
}

/** A browser that is gone, which the next call tells. */
export type ClosedBrowser = { readonly at: 'closed'; readonly reason: string; readonly url: string }

export type BrowserState = OpenBrowser | ClosingBrowser | ClosedBrowser
