/** Defines the port that writes documents. */

export const documentKinds = ['xlsx', 'docx', 'pptx', 'pdf', 'svg', 'png'] as const
export type DocumentKind = (typeof documentKinds)[number]

/** `refused`: the reason, for the model. `warnings`: what the document shows differently from its content. */
export type DocumentBytes =
  | { readonly bytes: Uint8Array; readonly warnings?: readonly string[] }
  | { readonly refused: string }

export type DocumentWriter = {
  /** Never rejects, even when the writer's isolate crashes. */
  readonly write: (kind: DocumentKind, content: string, signal: AbortSignal) => Promise<DocumentBytes>
  /** A link that works without a key for an hour. Empty without `ENCRYPTION_KEY`. */
  readonly link: (path: string) => Promise<string>
}
