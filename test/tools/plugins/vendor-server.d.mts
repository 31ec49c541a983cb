export type VendorServer = {
  readonly url: string
  readonly asked: { readonly line: string; readonly authorization: string; readonly body: string }[]
  /** By the beginning of the request line. */
  readonly answers: Record<string, readonly [status: number, body: string]>
  readonly close: () => void
}
export declare function startVendorServer(): Promise<VendorServer>
