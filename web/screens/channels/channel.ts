/** Shapes of channels and platforms in the API. */

export type Platform = {
  readonly platform: string
  readonly name: string
  readonly secrets: readonly {
    readonly name: string
    readonly required: boolean
    readonly hint: string
    readonly delivery?: string
  }[]
  readonly settings: readonly string[]
  /** The values of settings that are no free text. An empty list: any texts. */
  readonly choices: Readonly<Record<string, readonly string[]>>
  readonly guide: string
}
export type Channel = {
  readonly id: string
  readonly platform: string
  readonly name: string
  readonly status: 'active' | 'paused'
  readonly webhook_url: string
  readonly created_at: string
  readonly settings: { readonly project: string | null; readonly allow_users: readonly string[] }
  readonly generated?: Readonly<Record<string, string>>
  readonly registration?: Check
}
export type Check = { readonly ok: boolean; readonly detail: string }
