/**
 * Defines what a deployment and its tenant bring for tools: keys and addresses of vendors, bindings and settings. Tools
 * tell from it whether they are available.
 */

import type { Settings } from '../settings.ts'

/** A vendor that tools call, by the name that its credentials have. */
export type VendorAccess = {
  readonly id: string
  /** Of the deployment, without a slash at its end. It may be private. Empty: none is known. */
  readonly baseUrl: string
  /** A variable of the deployment names the base URL, so that every endpoint of the vendor is below it. */
  readonly isReplaced: boolean
  /** The tenant's, else the deployment's. Empty: there is none. */
  readonly keys: readonly string[]
  /** Whose keys these are. */
  readonly paidBy: 'tenant' | 'deployment'
  /** The variable that holds the deployment's key, or the address of a vendor without keys. */
  readonly variable: string
}

/** Optional bindings of the deployment that tools use. */
export type ToolBinding = 'AI' | 'BLOBS' | 'BROWSER' | 'IMAGES' | 'LOADER'

export type ToolDeployment = {
  readonly settings: Settings
  /** A vendor that is not known has neither address nor keys. */
  readonly vendor: (id: string) => VendorAccess
  /** Whether a model other than the demo can answer. */
  readonly hasProvider: () => boolean
  readonly hasBinding: (name: ToolBinding) => boolean
  /** A variable of the deployment that is neither a key nor a base URL. */
  readonly variable: (name: string) => string | undefined
}

/**
 * The reason why a tool is available, such as the name of a vendor or binding, or the sentence that tells a person what is
 * missing. `note`: what the person should know about it.
 */
export type Availability =
  | { readonly by: string; readonly note?: string; readonly reason?: undefined }
  | { readonly by?: undefined; readonly reason: string }
